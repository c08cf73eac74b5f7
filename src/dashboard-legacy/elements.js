export const $ = (id) => document.getElementById(id);

/** Creates an element. Its content is text or elements, so data never becomes markup. */
export function make(tag, properties, ...content) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...content);
  return element;
}

export const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));
export const shorter = (text, length = 200) => (text.length > length ? `${text.slice(0, length)} …` : text);

export function button(label, act, { className = 'plain', ariaLabel = null } = {}) {
  const it = make('button', { type: 'button', className, ariaLabel }, label);
  it.addEventListener('click', () => attempt(it, act));
  return it;
}

export function notify(text, is_error = false) {
  $('notice').textContent = text;
  $('notice').classList.toggle('error', is_error);
}

/** Runs an action with its button disabled, and shows an error if it fails. */
export async function attempt(control, act) {
  control.disabled = true;
  notify('');
  try {
    await act();
  } catch (error) {
    notify(error.message, true);
  } finally {
    control.disabled = false;
  }
}
