def edit(file_path, old_string, new_string, replace_all=False):
    path = _inside(file_path)
    if not _os.path.isfile(path):
        raise FileNotFoundError(f"There is no file {file_path}; create it with write")
    if old_string == new_string:
        raise ValueError("old_string and new_string are the same")
    if old_string == "":
        raise ValueError("old_string is empty; create or replace a file with write")
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    found = text.count(old_string)
    if found == 0:
        raise ValueError("old_string was not found; read the file and copy the text exactly, indentation included")
    if found > 1 and not replace_all:
        raise ValueError(f"old_string was found {found} times; add lines around it to name one place, or set replace_all")
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text.replace(old_string, new_string))
    return f"Edited {_shown(path)} ({found} {'place' if found == 1 else 'places'})"
