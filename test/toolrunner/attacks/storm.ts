/**
 * A Python program that exchanges directories, files, links, pipes and sockets of its workspace for each other all the time. Its argument
 * is a folder of the host with a file `private` and a folder `inner`, at which its links point. It prints a line once it runs.
 */
export const STORM = `
import ctypes, os, stat, sys
libc = ctypes.CDLL(None, use_errno=True)
outside, place = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else os.environ["PERDURA_WORKSPACE"]
os.chdir(place)

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

KINDS = [(folder, to_file), (folder, to_folder), (folder, pipe), (folder, nowhere), (file, to_file), (file, pipe), (file, plug), (file, to_folder)]
pairs = [(f"{n}a{k}", f"{n}b{k}", one, other) for k in range(4) for n, (one, other) in enumerate(KINDS)]
announced = False
while True:
    for a, b, one, other in pairs:
        for name, make in ((a, one), (b, other)):
            if not os.path.lexists(name):
                try: make(name)
                except OSError: pass
        for _ in range(3): libc.renameat2(-100, a.encode(), -100, b.encode(), 2)
    if not announced:
        print("storm", flush=True)
        announced = True
`;
