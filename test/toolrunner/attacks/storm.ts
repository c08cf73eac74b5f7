/**
 * A Python program that exchanges directories, files, links, pipes and sockets of its workspace for each other all the time. Its argument
 * is a folder of the host with a file `private` and a folder `inner`, at which its links point; a second one makes it only exchange a
 * folder for a link, as fast as it can. It prints a line once it runs.
 */
export const STORM = `
import ctypes, os, stat, sys
libc = ctypes.CDLL(None, use_errno=True)
outside, fast = sys.argv[1], len(sys.argv) > 2
os.chdir(os.environ["PERDURA_WORKSPACE"])

def folder(name):
    os.mkdir(name)
    for index in range(3):
        open(f"{name}/{index}", "w").write("own")
        os.mkdir(f"{name}/in{index}")
def file(name): open(name, "w").write("own" * 400)
def pipe(name): os.mkfifo(name)
def plug(name): os.mknod(name, stat.S_IFSOCK | 0o600)
def to_file(name): os.symlink(outside + "/private", name)
def to_folder(name): os.symlink(outside + "/inner", name)
def nowhere(name): os.symlink("nowhere", name)

def is_first(name, one):
    return os.path.lexists(name) and not os.path.islink(name) and (os.path.isdir if one is folder else os.path.isfile)(name)

KINDS = [(folder, to_file), (folder, to_folder), (folder, pipe), (folder, nowhere), (file, to_file), (file, pipe), (file, plug), (file, to_folder)]
pairs = [("a", "b", folder, to_folder)] if fast else [(f"{n}a{k}", f"{n}b{k}", one, other) for k in range(4) for n, (one, other) in enumerate(KINDS)]
announced = False
while True:
    for a, b, one, other in pairs:
        for name, partner in ((a, b), (b, a)):
            if not os.path.lexists(name):
                make = other if is_first(partner, one) else one
                try: make(name)
                except OSError: pass
        for _ in range(3): libc.renameat2(-100, a.encode(), -100, b.encode(), 2)
    if not announced:
        print("storm", flush=True)
        announced = True
`;
