"""Programs that try to get out of the isolation; each prints ESCAPED when its own attempt worked."""

from __future__ import annotations

ATTEMPT = """
import os, sys, ctypes, socket, subprocess, time, signal
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result in (-1, None, False, [], ""):
        raise OSError(ctypes.get_errno(), "refused")
try:
{body}
    print("ESCAPED")
except BaseException as error:
    print("HELD", type(error).__name__, error)
"""

PYTHON_ESCAPES: dict[str, str] = {
    # files of the host
    "reads the password file": "print(open('/etc/passwd').read())",
    "reads a home directory": "check([name for name in os.listdir('{home}') if name != '.pyenv'])",
    "reads the host's file": "print(open(os.environ.get('X', '') + '{host_file}').read())",
    "climbs out with ..": "print(open('../' * 30 + 'etc/passwd').read())",
    "finds a way out of its root": "check(os.listdir('/..') != os.listdir('/'))",
    "follows a link to the host": "os.symlink('{host_file}', 'link'); print(open('link').read())",
    "breaks out of the root by chroot": "check(libc.chroot(b'.') + 1)",
    "mounts the disk": "check(libc.mount(b'/dev/vda', b'/tmp', b'ext4', 0, None) + 1)",
    "makes a device": "os.mknod('disk', 0o60666, os.makedev(254, 0))",
    "reads the disk": "open('/dev/vda', 'rb').read(1)",
    "reads the kernel's memory": "open('/dev/mem', 'rb').read(1)",
    "opens by handle": "check(libc.syscall(304, -100, ctypes.create_string_buffer(64), 0) + 1)",
    "writes to the libraries": "open(os.__file__, 'a').write('x')",
    "remounts the libraries writable": "check(libc.mount(None, b'/usr/lib', None, 32 | 4096, None) + 1)",
    "writes to the root": "open('/new', 'w')",
    "makes a program with root's rights": "import shutil; shutil.copy(sys.executable, 'p'); os.chmod('p', 0o4755); "
    "check(b'uid=0' in subprocess.run(['./p', '-c', 'import os; print(f\"uid={{os.geteuid()}}\")'], stdout=-1).stdout)",
    # environment and processes of the host
    "reads the worker's environment": "print(open('/proc/' + str(os.getppid()) + '/environ').read())",
    "finds a secret in its own environment": "check('{secret}' in str(dict(os.environ)))",
    "finds a secret in its own memory": "import gc; check(any('{secret}' in str(o) for o in gc.get_objects() "
    "if isinstance(o, dict) and o is not globals() and 'check' not in o))",
    "lists processes": "os.listdir('/proc')",
    "signals the worker": "os.kill({worker_pid}, 0)",
    "kills its parent": "os.kill(os.getppid(), 9); time.sleep(0.2); check(os.getppid() == 0)",
    "becomes root": "os.setuid(0)",
    "takes root's group": "os.setgid(0)",
    "traces its parent": "check(libc.ptrace(16, os.getppid(), 0, 0) + 1)",
    "lets itself be traced": "check(libc.ptrace(0, 0, 0, 0) + 1)",
    "reads another process's memory": "check(libc.process_vm_readv(os.getppid(), None, 0, None, 0, 0) + 1)",
    "makes a user namespace": "check(libc.unshare(0x10000000) + 1)",
    "makes a namespace by clone": "check(libc.syscall(56, 0x10000011, 0, 0, 0, 0) + 1)",
    "joins a namespace": "check(libc.setns(0, 0) + 1)",
    "loads a kernel program": "check(libc.syscall(321, 0, 0, 0) + 1)",
    "uses kernel keys": "check(libc.syscall(250, 0, -3, 1) + 1)",
    "uses an asynchronous ring": "check(libc.syscall(425, 1, ctypes.create_string_buffer(256)) + 1)",
    "catches page faults": "check(libc.syscall(323, 0) + 1)",
    "watches the processor": "check(libc.syscall(298, ctypes.create_string_buffer(128), 0, -1, -1, 0) + 1)",
    "sets the clock": "time.clock_settime(time.CLOCK_REALTIME, 0)",
    "renames the host": "socket.sethostname('owned')",
    "lifts its own limits": "import resource; resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)",
    "lowers the limits of the process that reports": "import resource; "
    "check(resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (1, 1)))",
    "signals its parent through a descriptor": "import fcntl; a, b = socket.socketpair(); "
    "check(fcntl.fcntl(a, 8, os.getppid()) + 1); fcntl.fcntl(a, 10, 9); fcntl.fcntl(a, 4, 0x2000); b.send(b'x'); "
    "time.sleep(0.2); check(False)",
    "signals its parent by a descriptor of it": "signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 0)",
    "takes a descriptor of its parent": "check(libc.syscall(438, os.pidfd_open(os.getppid()), 0, 0) + 1)",
    "runs a copy of a program": "import shutil; shutil.copy(sys.executable, 'p'); os.chmod('p', 0o755); "
    "check(subprocess.run(['./p', '-c', '']).returncode == 0)",
    "maps its own file to be run": "import mmap; f = os.open('x', 66); os.write(f, bytes(9)); "
    "mmap.mmap(f, 9, prot=mmap.PROT_READ | mmap.PROT_EXEC)",
    "maps a library to be written": "import mmap; mmap.mmap(os.open(os.__file__, 0), 4096, flags=1, prot=3)",
    "lists the host's mounts": "import struct; "
    "check(libc.syscall(458, struct.pack('IIQQ', 24, 0, 2**64 - 1, 0), ctypes.create_string_buffer(9999), 999, 0) + 1)",
    "runs before all others": "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
    # network
    "opens a connection": "socket.create_connection(('1.1.1.1', 80), 1)",
    "reaches the worker's port": "socket.create_connection(('127.0.0.1', {port}), 1)",
    "sends a datagram": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('1.1.1.1', 53))",
    "speaks IPv6": "socket.socket(socket.AF_INET6)",
    "listens to the wire": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "talks to the kernel's network": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    "talks to the host's virtual socket": "socket.socket(socket.AF_VSOCK)",
    "resolves a name": "check(socket.gethostbyname('example.org'))",
    "finds an abstract socket of the host": "s = socket.socket(socket.AF_UNIX); s.connect('\\0{abstract}')",
    "talks to a cipher of the kernel": "socket.socket(38, socket.SOCK_SEQPACKET)",
    "makes a pair of another family": "socket.socketpair(30, socket.SOCK_SEQPACKET)",
    # memory that the kernel would hold for it, uncounted
    "makes a file in memory": "os.memfd_create('x')",
    "makes a secret file in memory": "check(libc.syscall(447, 0) + 1)",
    "makes a segment of System V": "check(libc.shmget(0, 2**20, 0o1600) + 1)",
    "makes a queue of System V": "check(libc.msgget(0, 0o1600) + 1)",
    "makes semaphores of System V": "check(libc.semget(0, 250, 0o1600) + 1)",
    "makes a queue of messages": "check(libc.syscall(240, b'x', 0o102, 0o600, None) + 1)",
    "shares memory without a file": "import mmap; mmap.mmap(-1, 2**20)",
    "shares memory, validated": "import mmap; mmap.mmap(-1, 2**20, flags=0x23)",
    "shares the device of zeroes": "import mmap; mmap.mmap(os.open('/dev/zero', 2), 2**20)",
    "takes huge pages": "import mmap; mmap.mmap(-1, 2**21, flags=0x40022)",
    "locks its memory": "check(libc.mlockall(2) + 1)",
    "gives pages to a pipe": "check(libc.syscall(278, os.pipe()[1], ctypes.create_string_buffer(64), 0, 0) + 1)",
    "splices": "r, w = os.pipe(); check(libc.splice(os.open('/box/x', 66), None, w, None, 1, 0) + 1)",
    "sends a file": "os.sendfile(os.pipe()[1], os.open('/box/x', 66), 0, 1)",
    "doubles a pipe": "check(libc.tee(os.pipe()[0], os.pipe()[1], 1, 2) + 1)",
    "enlarges a pipe": "import fcntl; fcntl.fcntl(os.pipe()[1], 1031, 2**20)",
    "enlarges what a socket sends": "socket.socketpair()[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**22)",
    "enlarges what a socket receives": "socket.socketpair()[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**22)",
    "makes a pair for datagrams": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "makes a socket for packets": "socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)",
    "watches descriptors": "import select; select.epoll()",
    "watches files": "check(libc.inotify_init() + 1)",
    "reads asynchronously": "check(libc.syscall(206, 64, ctypes.byref(ctypes.c_ulong())) + 1)",
    "leases a file": "import fcntl; fcntl.fcntl(os.open('x', 66), 1024, 1)",
    "watches a directory": "import fcntl; fcntl.fcntl(os.open('.', 0), 1026, 1)",
    "locks an open file": "import fcntl, struct; "
    "fcntl.fcntl(os.open('x', 66), 37, struct.pack('hhqqi4x', 1, 0, 0, 1, 0))",
    "attaches data to a file": "open('x', 'w'); os.setxattr('x', 'user.a', bytes(99))",
    "makes a set of rules": "check(libc.syscall(444, ctypes.byref(ctypes.c_uint64(1)), 8, 0) + 1)",
    "adds filters": "check(libc.syscall(317, 1, 0, None) + 1)",
    "adds filters by another call": "import struct; "
    "f = ctypes.create_string_buffer(bytes.fromhex('060000000000ff7f')); "
    "check(libc.prctl(22, 2, struct.pack('H6xQ', 1, ctypes.addressof(f)), 0, 0) + 1)",
    "asks for the network's interfaces": "import fcntl, struct; "
    "check(fcntl.ioctl(socket.socket(socket.AF_UNIX), 0x8912, struct.pack('i4xQ', 0, 0)))",
    "uses a call that is newer than its filter": "check(libc.syscall(464, -100, b'/', 0, b'user.a', None, 0) + 1 or "
    "ctypes.get_errno() != 38)",
    "opens a terminal": "os.openpty()",
    "has an inherited descriptor": "check([n for n in range(3, 256) if n not in (3, 4) and os.fstat(n)])",
}

FLOODS: dict[str, tuple[str, str]] = {
    # what it does: (program, what the observation says)
    "fork bomb": ("import os\nwhile True:\n    os.fork()", ""),
    "thread bomb": (
        "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(60,)).start()",
        "start new thread",
    ),
    "memory at once": ("bytearray(8 * 1024**3)", "MemoryError"),
    "one huge file": ("f = open('x', 'wb')\nwhile True:\n    f.write(bytes(2**20))", "File too large"),
    "a full disk": ("for n in range(99):\n    open(f'f{n}', 'wb').write(bytes(2**23))", "No space left"),
    "a million files": ("for n in range(10**6):\n    open(f'f{n}', 'w')", "No space left"),
    "open files without end": ("kept = [open('x', 'w') for _ in range(9999)]", "Too many open files"),
    "output without end": ("while True:\n    print('x' * 9999)", "out of time"),
    "a loop without end": ("while True:\n    pass", "out of time"),
    "a sleep that ignores signals": (
        "import signal, time\nfor n in (1, 2, 3, 6, 10, 12, 14, 15, 24):\n    signal.signal(n, signal.SIG_IGN)\n"
        "time.sleep(60)",
        "out of time",
    ),
    "an error without end": ("def f():\n    f()\nf()", "RecursionError"),
    "a huge value": ("'x' * 10**8", "characters left out"),
    "a huge error": ("raise ValueError('x' * 10**7)", "lines left out"),
    "a value that cannot be shown": ("class A:\n    def __repr__(self):\n        1 / 0\nA()", "ZeroDivisionError"),
    "a sudden end": ("import os\nos._exit(0)", "exit code 0 before its end"),
    "a sudden end with a code": ("import os\nos._exit(3)", "exit code 3 before its end"),
    "a crash": ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
    "suicide": ("import os\nos.kill(os.getpid(), 9)", "killed"),
    "killing all": ("import os\nos.kill(-1, 9)", "No such process"),
    "a deep syntax tree": ("(" * 5000 + ")" * 5000, "Error"),
    "closed streams": (
        "import os\nfor n in range(300):\n    try:\n        os.close(n)\n    except OSError:\n        pass",
        "",
    ),
}

_IN_FORTY = "import os, time\nfor _ in range(40):\n    if os.fork() == 0:\n        break\n"
_FILLED = """
import socket
def fill(one):
    one.setblocking(False)
    try:
        while True:
            one.send(bytes(65536))
    except BlockingIOError:
        return
kept = []
"""

HOARDS: dict[str, tuple[str, str]] = {
    # what it does in 700 MiB: (program, why it is stopped)
    "fills sockets in many processes": (
        _IN_FORTY
        + _FILLED
        + "while True:\n    try:\n        kept += socket.socketpair()\n        fill(kept[-1]), fill(kept[-2])\n"
        "    except OSError:\n        time.sleep(60)",
        "out of memory",
    ),
    "fills sockets that wait for an answer and closes them": (
        _FILLED + "kept = socket.socket(socket.AF_UNIX)\nkept.bind('x')\nkept.listen(4096)\n"
        "while True:\n    one = socket.socket(socket.AF_UNIX)\n    one.connect('x')\n    fill(one)\n    one.close()",
        "out of memory",
    ),
    "sends full sockets over sockets": (
        _IN_FORTY + _FILLED + "for _ in range(8):\n    hub = socket.socketpair()\n    kept += hub\n"
        "    try:\n        hub[0].setblocking(False)\n        while True:\n            pair = socket.socketpair()\n"
        "            fill(pair[0]), fill(pair[1])\n"
        "            socket.send_fds(hub[0], [b'x'], [pair[0].fileno(), pair[1].fileno()])\n"
        "            pair[0].close(), pair[1].close()\n    except OSError:\n        pass\n"
        "while True:\n    kept += socket.socketpair()\n    fill(kept[-1])",
        "out of memory",
    ),
    "hides behind a thread that outlives the first": (
        "import ctypes, threading, time\ndef grow():\n    time.sleep(0.3)\n    kept = b'x' * 2**30\n"
        "    time.sleep(60)\nthreading.Thread(target=grow).start()\nctypes.CDLL(None).syscall(60, 0)",
        "out of memory",
    ),
    "cuts its address space into pieces": (
        _IN_FORTY + "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n"
        "libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)\n"
        "at = libc.mmap(None, ctypes.c_size_t(2**29), 0, 0x22, -1, 0)\n"
        "while libc.mprotect(at, 4096, 1) == 0:\n    at += 8192\ntime.sleep(60)",
        "too many memory mappings",
    ),
    "locks a file byte by byte": (
        "import fcntl\nf = open('x', 'w')\nfor n in range(10**6):\n    fcntl.lockf(f, fcntl.LOCK_EX, 1, 2 * n)",
        "too many locks on files",
    ),
}

BOUNDED_HOARDS: dict[str, tuple[str, int]] = {
    # what it does until the kernel refuses, printing how much it got: (program, at most)
    "fills files that have no name": (
        "import os\nn = 0\nfor place in ('/box', '/tmp', '/dev/shm'):\n    try:\n        for k in range(99):\n"
        "            f = os.open(f'{place}/x', 66)\n            os.unlink(f'{place}/x')\n"
        "            for _ in range(60):\n                n += os.write(f, bytes(2**20))\n"
        "    except OSError:\n        pass\nprint(n)",
        3 * 128 * 2**20,
    ),
    "fills pipes": (
        "import os\nn = 0\ntry:\n    while True:\n        w = os.pipe()[1]\n        os.set_blocking(w, False)\n"
        "        try:\n            while True:\n                n += os.write(w, bytes(4096))\n"
        "        except BlockingIOError:\n            pass\nexcept OSError:\n    print(n)",
        64 * 2**20,
    ),
    "sets timers": (
        "import ctypes\nlibc, n = ctypes.CDLL(None), 0\n"
        "while libc.syscall(222, 0, None, ctypes.byref(ctypes.c_int())) == 0:\n    n += 1\nprint(n)",
        64,
    ),
}

SQLITE_ESCAPES: dict[str, str] = {
    "inserts": "INSERT INTO sales VALUES (9, 'x', 1)",
    "deletes": "DELETE FROM sales",
    "deletes and returns": "DELETE FROM sales RETURNING *",
    "updates through a CTE": "WITH x AS (SELECT 1) UPDATE sales SET amount = 0",
    "drops": "DROP TABLE sales",
    "creates": "CREATE TABLE owned (x)",
    "creates a temporary trigger": "CREATE TEMP TRIGGER t AFTER INSERT ON sales BEGIN DELETE FROM sales; END",
    "writes after a comment": "/* SELECT */ DELETE FROM sales",
    "writes in a second statement": "SELECT 1; DELETE FROM sales",
    "attaches a database": "ATTACH DATABASE '{directory}/owned.db' AS o",
    "attaches the host's database": "ATTACH DATABASE '{directory}/other.db' AS o",
    "copies the database": "VACUUM INTO '{directory}/owned.db'",
    "turns writing on": "PRAGMA query_only = OFF",
    "makes the schema writable": "PRAGMA writable_schema = ON",
    "changes the journal": "PRAGMA journal_mode = DELETE",
    "moves temporary files": "PRAGMA temp_store_directory = '{directory}'",
    "loads a library": "SELECT load_extension('/lib/x86_64-linux-gnu/libc.so.6')",
    "reads a file": "SELECT readfile('/etc/passwd')",
    "writes a file": "SELECT writefile('{directory}/owned.db', 'x')",
    "begins a transaction": "BEGIN EXCLUSIVE",
    "runs without end": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n",
    "joins without end": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 9999) "
    "SELECT count(*) FROM n a, n b, n c WHERE a.x * b.x * c.x = 7",
    "fills the memory": "SELECT hex(zeroblob(2000000000))",
    "fills the memory bit by bit": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
    "SELECT group_concat(hex(randomblob(100000))) FROM n",
    "sorts more than it may keep": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 90000) "
    "SELECT hex(randomblob(5000)) AS h FROM n ORDER BY h",
    "matches without end": "SELECT replace(hex(zeroblob(4000000)), '0', 'a') LIKE '" + "%a" * 2000 + "%b'",
}

POSTGRES_ESCAPES: dict[str, str] = {
    "inserts": "INSERT INTO sales VALUES (9, 'x', 1)",
    "writes through a CTE": "WITH gone AS (DELETE FROM sales RETURNING *) SELECT * FROM gone",
    "writes through a function": "SELECT wipe()",
    "turns writing on and calls": "SELECT set_config('transaction_read_only', 'off', false), wipe()",
    "turns writing on": "SET transaction_read_only = off",
    "ends the transaction": "COMMIT",
    "writes in a second statement": "SELECT 1; DELETE FROM sales",
    "ends the transaction and writes": "SELECT 1; COMMIT; DELETE FROM sales",
    "selects into a table": "SELECT * INTO owned FROM sales",
    "creates a table": "CREATE TABLE owned AS SELECT 1",
    "locks for writing": "SELECT * FROM sales FOR UPDATE",
    "advances a sequence": "SELECT nextval('counter')",
    "runs a block": "DO $$ BEGIN DELETE FROM sales; END $$",
    "calls a procedure": "CALL wipe_all()",
    "copies to a program": "COPY sales TO PROGRAM 'cat > /tmp/owned'",
    "copies to a file": "COPY (SELECT 1) TO '/tmp/owned'",
    "reads a file of the server": "SELECT pg_read_file('/etc/passwd')",
    "lists a directory of the server": "SELECT pg_ls_dir('/')",
    "exports a large object": "SELECT lo_export(1, '/tmp/owned')",
    "becomes another role": "SELECT set_config('role', 'postgres', false), wipe()",
    "sleeps past its time": "SELECT pg_sleep(600)",
    "lifts its time limit and sleeps": "SELECT set_config('statement_timeout', '0', false), pg_sleep(600)",
    "joins without end": "SELECT count(*) FROM generate_series(1, 1e6) a, generate_series(1, 1e6) b",
    "fills the memory": "SELECT repeat('x', 1000000000) FROM generate_series(1, 100)",
    "reads what its role may not": "SELECT * FROM private",
    "writes to the server's log": "SELECT pg_logical_emit_message(false, 'a', 'b')",
    "ends other connections": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity",
    "ends them behind a comment": "SELECT pg_terminate_backend/* a /* b */ c */(1)",
    "ends them behind a line comment": "SELECT pg_cancel_backend -- (\n (1)",
    "ends them by a quoted name": 'SELECT "pg_terminate_backend" (1)',
    "ends them by an escaped name": 'SELECT U&"pg_terminate_backen\\0064"(1)',
    "ends them in capitals": "SELECT PG_CATALOG.PG_Terminate_Backend(1)",
    "hides a call in a text": "SELECT '/*' || pg_advisory_lock(1)::text || '*/'",
    "runs text as a query": "SELECT query_to_xml('select pg_' || 'sleep(600)', true, true, '')",
    "takes a lock that outlives the query": "SELECT pg_advisory_lock(1)",
    "takes a transaction number": "SELECT pg_current_xact_id()",
    "tells the listeners": "SELECT pg_notify('a', 'b')",
    "lifts its time limit": "SELECT set_config('statement_timeout', '0', false)",
    "calls by the attribute of a row": "SELECT s.ring FROM sales AS s",
    "calls by the attribute of a row in parentheses": "SELECT (s).ring FROM sales AS s",
    "calls by the attribute of a made row": "SELECT (json_populate_record(null::sales, '{}')) . /* a */ \"ring\"",
    "calls by an operator": "SELECT 1 === 2",
    "calls by an operator and its schema": "SELECT 1 OPERATOR(public.===) 2",
    "calls by an operator that looks common": "SELECT '(1)'::chime + 1",
    "calls by an aggregate": "SELECT ring_all(id) FROM sales",
    "calls by a cast": "SELECT CAST(1 AS chime)",
    "calls a function with an odd name": 'SELECT "do it"()',
}

FILE_ESCAPES: dict[str, str] = {
    "goes up": "../secret.txt",
    "goes up from within": "inner/../../secret.txt",
    "goes up with a dot": "./.././secret.txt",
    "names it absolutely": "{outside}/secret.txt",
    "names the password file": "/etc/passwd",
    "names a home": "~/.ssh/id_rsa",
    "begins with the directory and goes up": "{inside}/../secret.txt",
    "begins with a longer name than the directory's": "{inside}-private/secret.txt",
    "follows a link to a file": "link.txt",
    "follows a link to a directory": "linked/secret.txt",
    "follows a link within": "inner/back/secret.txt",
    "follows a link to /proc": "self/environ",
    "reads a device": "zero",
    "waits at a pipe": "pipe",
    "reads a socket": "socket",
    "reads a directory": "inner",
    "treats a file as a directory": "plain.txt/x",
    "cuts the name with a null": "plain.txt\0/../../secret.txt",
    "speaks in addresses": "file://{outside}/secret.txt",
    "encodes the dots": "%2e%2e/secret.txt",
    "uses the other slash": "..\\secret.txt",
    "uses a name without end": "{long}",
}

ADDRESS_ESCAPES: dict[str, str] = {
    "deprecated site-local": "http://[fec0::1]:{port}/secret",
    "translated for IPv4": "http://[::ffff:0:127.0.0.1]:{port}/secret",
    "segment routing": "http://[5f00::1]:{port}/secret",
    "a tunnel within a site": "http://[2606:4700::5efe:10.0.0.1]:{port}/secret",
    "space that nobody was given": "http://[4000::1]:{port}/secret",
    "the former test network": "http://[3ffe::1]:{port}/secret",
    "new documentation": "http://[3fff::1]:{port}/secret",
    "an identifier that looks like an address": "http://[2001:20::1]:{port}/secret",
    "a relay of old tunnels": "http://192.88.99.1:{port}/secret",
    "loopback": "http://127.0.0.1:{port}/secret",
    "another loopback": "http://127.8.9.1:{port}/secret",
    "loopback by name": "http://localhost:{port}/secret",
    "loopback by its full name": "http://localhost.:{port}/secret",
    "loopback in capitals": "http://LOCALHOST:{port}/secret",
    "decimal": "http://2130706433:{port}/secret",
    "octal": "http://0177.0.0.1:{port}/secret",
    "hexadecimal": "http://0x7f000001:{port}/secret",
    "mixed bases": "http://0x7f.1:{port}/secret",
    "short": "http://127.1:{port}/secret",
    "zero": "http://0.0.0.0:{port}/secret",
    "short zero": "http://0:{port}/secret",
    "full-width digits": "http://１２７.0.0.1:{port}/secret",
    "circled digits": "http://①②⑦.0.0.1:{port}/secret",
    "full stops of another script": "http://127。0。0。1:{port}/secret",
    "hexadecimal in parts": "http://0x7f.0x0.0x0.0x1:{port}/secret",
    "octal in one": "http://017700000001:{port}/secret",
    "a percent for each dot": "http://127%2e0%2e0%2e1:{port}/secret",
    "IPv4 within IPv6, written out": "http://[0:0:0:0:0:ffff:7f00:1]:{port}/secret",
    "IPv4 within IPv6, with a zone": "http://[::ffff:127.0.0.1%25lo]:{port}/secret",
    "NAT64 of a site": "http://[64:ff9b:1::7f00:1]:{port}/secret",
    "6to4 of a private network": "http://[2002:a00:1::1]:{port}/secret",
    "this machine by its own name": "http://{own_name}:{port}/secret",
    "IPv6 loopback": "http://[::1]:{port}/secret",
    "IPv6 unspecified": "http://[::]:{port}/secret",
    "IPv4 within IPv6": "http://[::ffff:127.0.0.1]:{port}/secret",
    "IPv4 within IPv6, hexadecimal": "http://[::ffff:7f00:1]:{port}/secret",
    "IPv4-compatible": "http://[::127.0.0.1]:{port}/secret",
    "6to4": "http://[2002:7f00:1::]:{port}/secret",
    "NAT64": "http://[64:ff9b::7f00:1]:{port}/secret",
    "Teredo": "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]:{port}/secret",
    "IPv6 link-local": "http://[fe80::1]:{port}/secret",
    "IPv6 unique local": "http://[fd00:ec2::254]/latest/meta-data/",
    "cloud metadata": "http://169.254.169.254/latest/meta-data/",
    "cloud metadata, decimal": "http://2852039166/latest/meta-data/",
    "another cloud's metadata": "http://100.100.100.200/latest/meta-data/",
    "a third cloud's metadata": "http://168.63.129.16/machine",
    "private class A": "http://10.0.0.1/",
    "private class B": "http://172.16.0.1/",
    "private class C": "http://192.168.1.1/",
    "carrier's private network": "http://100.64.0.1/",
    "multicast": "http://224.0.0.1/",
    "broadcast": "http://255.255.255.255/",
    "user name that looks like a host": "http://example.org@127.0.0.1:{port}/secret",
    "password": "http://example.org:80@127.0.0.1:{port}/secret",
    "backslash": "http://example.org\\@127.0.0.1:{port}/secret",
    "fragment": "http://127.0.0.1:{port}/secret#@example.org/",
    "no scheme": "127.0.0.1:{port}/secret",
    "file": "file:///etc/passwd",
    "file with a host": "file://localhost/etc/passwd",
    "gopher": "gopher://127.0.0.1:{port}/_secret",
    "ftp": "ftp://127.0.0.1/secret",
    "data": "data:text/plain,secret",
    "unix socket": "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
    "header injection": "http://127.0.0.1:{port}/secret\r\nHost: example.org",
    "no host": "http:///secret",
}
