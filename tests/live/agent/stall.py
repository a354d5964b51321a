"""A file system that can stop answering: an empty folder served over /dev/fuse, mounted as fuse.glusterfs. Kernels without an NFS
client can still have this one, and a process that asks it waits in the kernel as it would for a dead file server."""
import ctypes
import os
import struct
import threading

INIT, GETATTR, STATFS, OPENDIR, READDIR, RELEASEDIR, FORGET, INTERRUPT, BATCH_FORGET = 26, 3, 17, 27, 28, 29, 2, 36, 42
ENOSYS = -38


class Stall:
    def __init__(self, folder):
        self.folder, self.fd = folder, -1
        self.stalled = threading.Event()
        self.waiting, self.lock = [], threading.Lock()

    def mount(self):
        """False where this machine does not let us."""
        os.makedirs(self.folder, exist_ok=True)
        try:
            self.fd = os.open('/dev/fuse', os.O_RDWR)
        except OSError:
            return False
        libc = ctypes.CDLL(None, use_errno=True)
        data = f'fd={self.fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}'.encode()
        if libc.mount(b'stall', self.folder.encode(), b'fuse.glusterfs', 0, data) != 0:
            os.close(self.fd)
            return False
        threading.Thread(target=self.serve, daemon=True).start()
        return True

    def unmount(self):
        ctypes.CDLL(None).umount2(self.folder.encode(), 2)
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 20)
            except OSError:
                return
            with self.lock:
                if self.stalled.is_set():
                    self.waiting.append(request)
                    continue
            self.answer(request)

    def resume(self):
        with self.lock:
            self.stalled.clear()
            late, self.waiting = self.waiting, []
        for request in late:
            self.answer(request)

    def answer(self, request):
        _, opcode, unique = struct.unpack_from('<IIQ', request)
        error, body = 0, b''
        attr = struct.pack('<QQQQQQIIIIIIIIII', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, os.getuid(), os.getgid(), 0, 4096, 0)
        if opcode in (FORGET, INTERRUPT, BATCH_FORGET):
            return
        if opcode == INIT:
            body = struct.pack('<IIIIHHIIHHI28x', 7, 31, 0, 0, 12, 9, 4096, 1, 0, 0, 0)
        elif opcode == GETATTR:
            body = struct.pack('<QII', 0, 0, 0) + attr
        elif opcode == STATFS:
            body = struct.pack('<QQQQQIIII24x', 1000, 900, 900, 100, 90, 4096, 255, 4096, 0)
        elif opcode == OPENDIR:
            body = struct.pack('<QII', 1, 0, 0)
        elif opcode not in (READDIR, RELEASEDIR):
            error = ENOSYS
        try:
            os.write(self.fd, struct.pack('<IiQ', 16 + len(body), error, unique) + body)
        except OSError:
            pass  # who asked was killed meanwhile
