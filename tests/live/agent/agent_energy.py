"""agent_energy.py MUSTER FAKE_NVML: `muster energy record` on a stand-in for NVIDIA's library, and ../gpu/gpu_energy.py on it:
that holds where counter and power agree, and fails where the counter runs 5 % ahead."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..'))
from held import check, finish  # noqa: E402

MUSTER, FAKE = (os.path.abspath(a) for a in sys.argv[1:3])
GPU_ENERGY = os.path.join(HERE, '..', 'gpu', 'gpu_energy.py')


def proof(percent):
    return subprocess.run([sys.executable, '-B', GPU_ENERGY, MUSTER], capture_output=True, text=True, timeout=120,
                          env={**os.environ, 'FAKE_NVML': FAKE, 'FAKE_NVML_WAVE': percent})


def record(*args, env=None):
    return subprocess.run([MUSTER, 'energy', 'record', '--nvml-library', FAKE, '--node', 'n1', *args], capture_output=True,
                          text=True,
                          timeout=60, env={**os.environ, **(env or {})})


def main():
    same, ahead = proof('0'), proof('5')
    check(same.returncode == 0, 'counter and samples of a square wave agree within 2 %', same.stdout + same.stderr)
    print(same.stdout)
    apart = [line for line in ahead.stdout.splitlines() if line.startswith('not ok')]
    check(ahead.returncode == 1 and len(apart) == 1 and 'within 2 %' in apart[0], 'a counter 5 % ahead is told',
          ahead.stdout + ahead.stderr)
    plain = record('--every', '0.1', '--for', '0.5')
    lines = plain.stdout.splitlines()
    check(plain.returncode == 0 and lines[0] == 'timestamp_utc,node,gpu,uuid,model,power_w,instant_w,energy_mj',
          'a table comes out', plain)
    check(len(lines) == 1 + 8 * 6 and all(',123.456,,' in line for line in lines[1:]), 'GPUs without a counter have power alone',
          lines[:3])
    none = subprocess.run([MUSTER, 'energy', 'record', '--nvml-library', '/nowhere.so'], capture_output=True, text=True,
                          timeout=20)
    check(none.returncode == 5 and none.stdout == '' and '--nvml-library' in none.stderr, 'no library is exit code 5', none)
    with tempfile.TemporaryDirectory() as folder:
        gone = record('--for', '1s', '--out', folder + '/no/power.csv')
        check(gone.returncode == 3 and 'no/power.csv' in gone.stderr, 'a folder that is not there is exit code 3', gone)
        lost = record('--every', '0.1', '--for', '0.3', '--out', folder + '/p.csv', env={'FAKE_NVML_DEV': folder})
        check(lost.returncode == 3 and 'no GPU answers' in lost.stderr, 'no GPU that answers is exit code 3', lost)
    finish()


if __name__ == '__main__':
    main()
