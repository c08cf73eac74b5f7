def grep(pattern, path=".", glob=None, output_mode="files_with_matches", case_insensitive=False, multiline=False,
         line_numbers=True, before=0, after=0, head_limit=250):
    import re

    top = _inside(path)
    if not _os.path.exists(top):
        raise FileNotFoundError(f"There is no {path}")
    try:
        wanted = re.compile(pattern, (re.IGNORECASE if case_insensitive else 0) | (re.DOTALL if multiline else 0) | re.MULTILINE)
    except re.error as reason:
        raise ValueError(f"The pattern is not a valid regular expression: {reason}") from None
    matches = _matcher(glob if "/" in glob else f"**/{glob}") if glob else (lambda name: True)
    files = [top] if _os.path.isfile(top) else [it for it in _walk(top) if matches(_os.path.relpath(it, top))]
    lines = []

    def add(text):
        if len(lines) == head_limit:
            return False
        lines.append(text)
        return True

    def content(name, text):
        rows = text.split("\n")
        hits = set()
        for hit in wanted.finditer(text):
            first = text.count("\n", 0, hit.start())
            hits.update(range(first, first + hit.group().rstrip("\n").count("\n") + 1))
        last = -1
        for row in sorted({it for hit in hits for it in range(max(0, hit - before), min(len(rows), hit + after + 1))}):
            if (before or after) and last >= 0 and row > last + 1 and not add("--"):
                return False
            last = row
            mark = ":" if row in hits else "-"
            place = f"{name}{mark}{row + 1}{mark}" if line_numbers else f"{name}{mark}"
            if not add(place + rows[row].rstrip("\r")[:1000]):
                return False
        return True

    for file in files:
        try:
            if not _os.path.isfile(file) or _os.path.getsize(file) > 20_000_000:
                continue
            with open(_inside(file), "rb") as opened:
                data = opened.read()
        except OSError:
            continue
        if b"\0" in data[:8192]:
            continue
        text = data.decode("utf-8", "replace")
        if not wanted.search(text):
            continue
        name = _shown(file)
        if output_mode == "content":
            more = content(name, text)
        elif output_mode == "count":
            more = add(f"{name}:{sum(1 for _ in wanted.finditer(text))}")
        else:
            more = add(name)
        if not more:
            lines.append(f"[more follows; the limit of {head_limit} lines is reached]")
            break
    return "\n".join(lines) or "No match"
