/** For each command, the words that may follow it. */
export type Words = Record<string, string[]>;

/** For each shell, a script that completes commands, verbs and options. */
export const COMPLETION_SCRIPTS: Record<string, (words: Words) => string> = { bash, zsh, fish };

const cases = (words: Words, line: (name: string, list: string) => string) =>
  Object.entries(words)
    .map(([name, list]) => `    ${line(name, list.join(' '))}`)
    .join('\n');

function bash(words: Words): string {
  return `_perdura() {
  local words
  case "\${COMP_CWORD}:\${COMP_WORDS[1]}" in
    1:*) words="${Object.keys(words).join(' ')} --help --version" ;;
${cases(words, (name, list) => `*:${name}) words="${list}" ;;`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _perdura perdura
`;
}

function zsh(words: Words): string {
  return `#compdef perdura
_perdura() {
  if (( CURRENT == 2 )); then
    compadd -- ${Object.keys(words).join(' ')} --help --version
    return
  fi
  case "\${words[2]}" in
${cases(words, (name, list) => `${name}) compadd -- ${list} ;;`)}
  esac
  _files
}
compdef _perdura perdura
`;
}

function fish(words: Words): string {
  const names = Object.keys(words).join(' ');
  const first = `complete -c perdura -n 'not __fish_seen_subcommand_from ${names}' -f -a '${names} --help --version'`;
  const others = Object.entries(words).map(
    ([name, list]) => `complete -c perdura -n '__fish_seen_subcommand_from ${name}' -a '${list.join(' ')}'`,
  );
  return `${[first, ...others].join('\n')}\n`;
}
