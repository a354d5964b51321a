"""An agent that follows the logs of jobs and asks NCCL's own watch: what they say becomes findings of the job, which name the
rank that did not come. The lines and the report are those of PyTorch 2.9 and NCCL 2.28.9 when one of four ranks slept."""
import os
import socket
import threading
import time

from ward import DIR, Agent, Controller, check, finish, get, until

RAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'ras_behind.txt')
LOGS = os.path.join(DIR, 'logs')
os.mkdir(LOGS)


def timeout(rank):
    return (f'[rank{rank}]:[E1115 15:27:03.228151671 ProcessGroupNCCL.cpp:689] [Rank {rank}] Watchdog caught collective '
            'operation timeout: WorkNCCL(SeqNum=401, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=25000) ran '
            'for 25023 milliseconds before timing out.\n'
            f'[rank{rank}]:[E1115 15:27:03.239949990 ProcessGroupNCCL.cpp:2303] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  '
            'failure detected by watchdog at work sequence id: 401 PG status: last enqueued work: 401, '
            'last completed work: 400\n')


def write(job, text):
    with open(os.path.join(LOGS, f'slurm-{job}.out'), 'a') as f:
        f.write(text)


# Answers as a process of a job does; `quiet` says nothing for ever.
door = socket.create_server(('127.0.0.1', 0))
quiet = threading.Event()
asked = []


def serve():
    held = []
    while True:
        link, _ = door.accept()
        asked.append(link.recv(100))
        if quiet.is_set():
            held.append(link)
            continue
        link.sendall(open(RAS, 'rb').read())
        link.close()


threading.Thread(target=serve, daemon=True).start()
write(7, timeout(0))  # of a job that ended before the agent came
controller = Controller()
controller.start()
agent = Agent(controller, 1, more=['--job-log', os.path.join(LOGS, 'slurm-%j.out')])
ras = Agent(controller, 2, more=['--nccl-ras', f'127.0.0.1:{door.getsockname()[1]}'])
agent.start()
ras.start()
until(lambda: agent.metric('muster_agent_controller_up') == 1)
time.sleep(2)


def hang(job):
    return next((f for f in controller.findings('nccl_hang') if f['subject'] == job), None)


def newest(job):
    f = hang(job)
    return f['evidence'][-1]['text'] if f else ''


# ---- a log that was there, and one that appears
write(7, 'iteration 100 | loss 2.1\n')
write(41, 'iteration 100 | loss 2.1\n' * 1000)
time.sleep(1.5)
began = time.monotonic()
for rank in (0, 1, 3):
    write(41, timeout(rank))
check(until(lambda: hang('job 41'), 15), 'a collective that timed out is a finding of its job', controller.findings('nccl_hang'))
print(f'    line to finding: {time.monotonic() - began:.1f} s', flush=True)
check(until(lambda: 'rank 2 did not come to the collective' in newest('job 41'), 45), 'it names the rank that did not come',
      newest('job 41'))
check(hang('job 41')['where']['words'] == 'job 41', 'and where: in the job', hang('job 41')['where'])
check(hang('job 7') is None, 'what a log said before the agent came is not news')

# ---- an agent that is killed loses none of it and tells none of it twice
time.sleep(2)
agent.kill()
write(42, timeout(1))
agent.start()
check(until(lambda: hang('job 42'), 30), 'what was written while the agent was away is told when it is back',
      controller.findings('nccl_hang'))
check(len(hang('job 41')['evidence']) <= 4, 'and nothing again', hang('job 41'))

# ---- NCCL's own watch
check(until(lambda: 'rank 2 stays behind the others' in newest('a job'), 75),
      'a rank that stays behind is told, before any timeout', controller.findings('nccl_hang'))
check(asked and asked[0] == b'verbose status\n', 'it asks what NCCL documents', asked)
quiet.set()
n = len(asked)
until(lambda: len(asked) > n, 40)
time.sleep(1)
check(get(ras.port, '/check')[0] == 200 and '"ok":true' in get(ras.port, '/check')[1],
      'a job that does not answer is no fault of the node', get(ras.port, '/check')[1])
check(not controller.findings('driver_hang'), 'nor of its driver')

# ---- nothing of it leads to an act
text = get(controller.port, '/api/v1/actions')[1]
check('"items":[]' in text, 'nothing was done about any of it', text[:300])
finish()
