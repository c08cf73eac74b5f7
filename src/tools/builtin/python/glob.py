def glob(pattern, path="."):
    top = _inside(path)
    if not _os.path.isdir(top):
        raise NotADirectoryError(f"There is no directory {path}")
    matches = _matcher(pattern.lstrip("/"))
    found = [file for file in _walk(top) if matches(_os.path.relpath(file, top))]
    found.sort(key=lambda file: -_os.lstat(file).st_mtime)
    shown = [_shown(file) for file in found[:200]]
    if len(found) > 200:
        shown.append(f"[{len(found) - 200} more; use a narrower pattern]")
    return "\n".join(shown) or "No file matches"
