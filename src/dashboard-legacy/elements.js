export const $ = (id) => document.getElementById(id);

/** An element with its content; content is always text or elements, so no data becomes markup. */
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

export function tell(text, is_error = false) {
  $('notice').textContent = text;
  $('notice').classList.toggle('error', is_error);
}

/** Carries something out with its button off meanwhile; a failure is told. */
export async function attempt(control, act) {
  control.disabled = true;
  tell('');
  try {
    await act();
  } catch (error) {
    tell(error.message, true);
  } finally {
    control.disabled = false;
  }
}
