"""history_test.py MUSTER: what ended while no Muster looked is told from Slurm's accounting (sacct), as it ended; and its text
is a trace for `muster replay jobs`. Needs slurmdbd and MariaDB, and says so where they are not."""
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
from controller import wait_for  # noqa: E402
from held import check, finish  # noqa: E402
from stage import lab_or_skip, muster_on  # noqa: E402


def ended(muster, job):
    return [e['body'] for e in muster.of('job_ended') if e['body']['job'] == str(job)]


def main():
    program = os.path.abspath(sys.argv[1])
    lab = lab_or_skip('history', nodes=4, leaf=2, dbd=True)
    muster = muster_on(lab, program, partitions={'batch': 'advise'})
    muster.start()
    fails = lab.sbatch('-N', '2', '--gpus-per-node=8', '-t', '10', script='sleep 12; exit 3')
    check(wait_for(lambda: [e for e in muster.of('job_started') if e['body']['job'] == str(fails)], 20), 'a job runs')
    muster.kill()
    between = lab.sbatch('-N', '1', '--gpus-per-node=8', '-t', '10', script='sleep 1')
    wait_for(lambda: lab.job(fails).get('JobState') == 'FAILED' and lab.job(between).get('JobState') == 'COMPLETED', 40)
    rows = wait_for(lambda: [line for line in lab.out('sacct', '-a', '-X', '-n', '-P', '--format=JobID,State').splitlines()
                             if line in (f'{fails}|FAILED', f'{between}|COMPLETED')][1:], 20)
    check(rows, "Slurm's accounting knows how both ended", lab.out('sacct', '-a', '-X', '-n', '-P'))
    time.sleep(6)  # what is older than a few seconds has its own time
    muster.start()
    told = wait_for(lambda: ended(muster, fails), 15)
    check(told and told[-1]['end'] == 'app_failed' and 'by sacct' in told[-1]['detail'],
          'the one that failed while Muster was away is told as failed', told)
    told = wait_for(lambda: ended(muster, between), 15)
    check(told and told[-1]['end'] == 'completed' and 'by sacct' in told[-1]['detail'],
          'and the one that came and went, as completed', told)
    over = int(lab.out('sacct', '-a', '-X', '-n', '-P', '-j', str(between), '--format=End', env={'SLURM_TIME_FORMAT': '%s'}))
    check(told and abs(told[-1]['at'] / 1e9 - over) < 2, 'at the time at which it ended', (told, over))
    time.sleep(3)
    check(len(ended(muster, fails)) == 1 and len(ended(muster, between)) == 1, 'each once', muster.of('job_ended'))
    check(muster.stop() == 0, 'Muster ends in the clean way')
    trace = f'{lab.dir}/jobs.txt'
    with open(trace, 'w') as f:
        f.write(lab.out('sacct', '-a', '-X', '-P', '--format=Submit,ElapsedRaw,AllocTRES,ReqTRES'))
    played = subprocess.run([program, 'replay', 'jobs', '--trace', trace, '--gpus', '32'], capture_output=True, text=True,
                            timeout=60)
    check(played.returncode == 0, "sacct's text is a trace for muster replay jobs", played.stderr + played.stdout)
    print('#', (played.stdout.strip().splitlines() or [''])[0])
    finish()


main()
