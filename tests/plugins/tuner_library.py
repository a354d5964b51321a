"""tuner_library.py LIBRARY: what libnccl-tuner-muster.so shows to the outside: five objects, and the C library of old systems as
all it needs. Skipped (77) where binutils are missing."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from held import check, finish  # noqa: E402

if not shutil.which('nm') or not shutil.which('objdump'):
    print('skip - tuner_library: needs binutils')
    sys.exit(77)
LIBRARY = sys.argv[1]


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


symbols = sorted(line.split()[-1] for line in said('nm', '-D', '--defined-only', LIBRARY).splitlines())
check(symbols == [f'ncclTunerPlugin_v{v}' for v in range(2, 7)], 'it offers the five versions and nothing else', symbols)
needed = re.findall(r'NEEDED\s+(\S+)', said('objdump', '-p', LIBRARY))
check(needed == ['libc.so.6'], 'it needs the C library and nothing else', needed)
versions = {tuple(int(n) for n in v.split('.')) for v in re.findall(r'GLIBC_([0-9.]+)', said('objdump', '-T', LIBRARY))}
check(max(versions) <= (2, 28), 'a C library of 2018 is new enough for it', sorted(versions)[-1])
check(os.path.getsize(LIBRARY) < 200_000, 'it is small', os.path.getsize(LIBRARY))
finish()
