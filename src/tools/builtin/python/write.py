def write(file_path, content):
    path = _inside(file_path)
    known = _os.path.exists(path)
    _os.makedirs(_os.path.dirname(path), exist_ok=True)
    data = content.encode("utf-8", "replace")
    with open(path, "wb") as file:
        file.write(data)
    return f"{'Replaced' if known else 'Created'} {_shown(path)} ({len(data)} bytes)"
