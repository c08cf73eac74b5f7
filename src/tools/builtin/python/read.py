def read(file_path, offset=1, limit=2000):
    path = _inside(file_path)
    if _os.path.isdir(path):
        raise IsADirectoryError(f"{file_path} is a directory; list it with glob")
    if not _os.path.exists(path):
        raise FileNotFoundError(f"There is no file {file_path}")
    lines, number, size = [], 0, 0
    with open(path, "rb") as file:
        if b"\0" in file.read(8192):
            raise ValueError(f"{file_path} is not a text file ({_os.path.getsize(path)} bytes)")
        file.seek(0)
        for raw in file:
            number += 1
            if number < offset:
                continue
            if len(lines) >= limit or size > 200_000:
                lines.append(f"[more lines follow; read on with offset {number}]")
                break
            text = raw.decode("utf-8", "replace").rstrip("\r\n")
            if len(text) > 2000:
                text = text[:2000] + " [line cut]"
            size += len(text)
            lines.append(f"{number:6}\t{text}")
    if lines:
        return "\n".join(lines)
    return "[the file is empty]" if number == 0 else f"[the file has only {number} lines]"
