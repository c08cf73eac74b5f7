/** On a terminal, keeps a last line on stderr that names what is still being done. Without a terminal it shows nothing. */
export function showProgress(names: string[], stream: NodeJS.WriteStream = process.stderr) {
  const open = new Set(names);
  const clear = () => void (stream.isTTY && stream.write('\r\x1b[K'));
  const draw = () => {
    clear();
    if (!stream.isTTY || open.size === 0) return;
    const line = `checking ${names.length - open.size + 1} of ${names.length}: ${[...open].join(', ')} …`;
    stream.write(line.slice(0, (stream.columns ?? 80) - 1));
  };
  draw();
  return {
    done(name: string) {
      open.delete(name);
      draw();
    },
    /** Prints something above the line. */
    around<Given>(print: (given: Given) => void, given: Given) {
      clear();
      print(given);
      draw();
    },
    end: clear,
  };
}
