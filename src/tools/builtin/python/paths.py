# Prepended to each file tool: the rules for paths.
import os as _os


def _inside(path):
    """The real path, which must be in the workspace; relative paths start there."""
    root = _os.path.realpath(_os.environ["PERDURA_WORKSPACE"])
    found = _os.path.realpath(_os.path.join(root, path))
    if found != root and not found.startswith(root + _os.sep):
        raise PermissionError(f"{path} is outside the workspace; use paths relative to it")
    return found


def _shown(path):
    return _os.path.relpath(path, _os.path.realpath(_os.environ["PERDURA_WORKSPACE"]))


def _walk(top):
    """Every file below, except in folders of version control."""
    for folder, folders, files in _os.walk(top):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(files):
            yield _os.path.join(folder, name)


def _matcher(pattern):
    """A glob with `**`, `*`, `?`, `[...]` and `{a,b}` as a test of paths relative to where it is used."""
    import re

    def translate(text):
        out, at = "", 0
        while at < len(text):
            char = text[at]
            if text.startswith("**/", at):
                out, at = out + "(?:.*/)?", at + 3
                continue
            if text.startswith("**", at):
                out, at = out + ".*", at + 2
                continue
            if char == "*":
                out += "[^/]*"
            elif char == "?":
                out += "[^/]"
            elif char == "[" and "]" in text[at:]:
                end = text.index("]", at)
                body = text[at + 1 : end].replace("\\", "\\\\")
                out, at = out + "[" + ("^" + body[1:] if body.startswith("!") else body) + "]", end + 1
                continue
            elif char == "{" and "}" in text[at:]:
                end = text.index("}", at)
                out, at = out + "(?:" + "|".join(translate(it) for it in text[at + 1 : end].split(",")) + ")", end + 1
                continue
            else:
                out += re.escape(char)
            at += 1
        return out

    return re.compile(translate(pattern) + r"\Z").match
