"""Agents beside a controller: latency, metrics, `muster check`, cost, and kill -9 of both at random moments."""
import json
import os
import random
import re
import shutil
import subprocess
import time

from ward import DIR, Agent, Controller, check, fault, finish, get, numbers, run, until

AGENTS = int(os.environ.get('MUSTER_AGENTS', '8'))
KILLS = int(os.environ.get('MUSTER_KILLS', '12'))
random.seed(20260101)

controller = Controller()
controller.start()
agents = [Agent(controller, n + 1) for n in range(AGENTS)]
for a in agents:
    a.start()
until(lambda: all(a.metric('muster_agent_controller_up') == 1 for a in agents))

# ---- from the kernel's line to the controller's journal
arrived = {}


def note(line, at):
    for n in re.findall(r' n=(\d+)\.', line):
        arrived.setdefault(int(n), at)


controller.listen(note)
time.sleep(0.5)
written = {}
for n in range(400):
    written[n] = time.monotonic()
    agents[n % AGENTS].write(fault(n))
    time.sleep(0.02)
until(lambda: len(arrived) >= len(written), 10)
times = sorted(1000 * (arrived[n] - written[n]) for n in written if n in arrived)
check(len(times) == 400, f'every line of {AGENTS} agents arrives: {len(times)} of 400',
      open(os.path.join(DIR, 'agent.log')).read()[-1500:])
if times:
    print(f'    kernel line to durable event, {AGENTS} agents: median {times[len(times) // 2]:.1f} ms, '
          f'p99 {times[int(len(times) * 0.99)]:.1f} ms, worst {times[-1]:.1f} ms', flush=True)
    check(times[int(len(times) * 0.99)] < 500, 'p99 is under half a second, on whatever machine this is', times[-5:])
check(until(lambda: controller.findings('hearsay')), 'a file\'s word is a finding of the kind that is never acted on')
status, text = get(controller.port, '/api/v1/actions')
check(status == 200 and json.loads(text)['items'] == [], 'nothing was done about it', text[:500])

# ---- the page and the check
a = agents[0]
until(lambda: a.metric('DCGM_FI_DEV_GPU_TEMP'))
page = get(a.port, '/metrics')[1]
check(re.search(r'^DCGM_FI_DEV_GPU_TEMP\{gpu="0",UUID="GPU-fake-0",pci_bus_id="00000000:1B:00.0",device="nvidia0",'
                r'modelName="NVIDIA H200",Hostname="node0001".*\} 41$', page, re.M),
      'the page has dcgm-exporter\'s names and labels', page[:800])
if shutil.which('promtool'):
    lint = subprocess.run(['promtool', 'check', 'metrics'], input=page, capture_output=True, text=True)
    # dcgm-exporter's own names and labels break promtool's taste; ours do not, and nothing is malformed.
    ours = [line for line in lint.stderr.splitlines() if not line.startswith('DCGM_')]
    check(lint.returncode in (0, 3) and not ours, 'promtool reads the page and has no complaint about names of ours', ours)
verdict = run('check', '--spool', a.spool)
check(verdict.returncode == 0 and verdict.stdout == 'ok\n', 'muster check says ok', (verdict.stdout, verdict.stderr))
nobody = run('check', '--spool', os.path.join(DIR, 'nobody'))
check(nobody.returncode == 5 and 'no agent' in nobody.stderr, 'without an agent it says so, exit code 5',
      (nobody.returncode, nobody.stderr))
once = run('agent', '--once', '-o', 'json', '--spool', os.path.join(DIR, 'once'), '--nvml', os.path.join(DIR, 'missing.so'))
facts = json.loads(once.stdout)['facts'] if once.returncode == 0 else {}
check(facts.get('nvml') == 'absent' and 'kernel' in facts, 'agent --once prints what there is, and says that NVML is absent',
      once.stdout[:500])

# ---- who the GPUs are: one event each, and no more when the agent starts again
known = until(lambda: len(controller.events('gpu_identified')) >= 8 * AGENTS and controller.events('gpu_identified'), 10) or []
mine = sorted(e['body']['gpu']['slot'] for e in known if e['source']['stream'] == 'agent/node0001')
check(mine == list(range(8)), 'each GPU is told of once', (mine, len(known)))
check(any(e['body']['gpu'] == {'slot': 2, 'uuid': 'GPU-fake-2', 'serial': '165000002', 'vbios': '96.00.5E.00.01',
                               'pci': '00000000:3B:00.0'} for e in known), 'with UUID, serial number and VBIOS', known[:2])
facts = [e['body'] for e in controller.events('node_described') if e['source']['stream'] == 'agent/node0001']
check(facts and dict(facts[-1]['facts']).get('driver_version') == '999.1' and 'kernel' in dict(facts[-1]['facts']),
      'and the node by what it runs', facts)
a.kill()
a.start()
until(lambda: a.metric('DCGM_FI_DEV_GPU_TEMP') and a.metric('muster_agent_spool_bytes') == 0)
time.sleep(1)
check(len(controller.events('gpu_identified')) == len(known), 'an agent that starts again tells nothing new')

# ---- what it costs
for other in agents[1:]:
    other.kill()
time.sleep(3)
cpu = a.cpu_s()
began = time.monotonic()
time.sleep(20)
share = 100 * (a.cpu_s() - cpu) / (time.monotonic() - began)
rss, pss = a.rss_mb(), a.pss_mb()
print(f'    agent: {rss:.1f} MB resident, {pss:.1f} MB with all its probes (shared pages counted once), '
      f'{share:.2f} % of a core; 8 GPUs that answer at once', flush=True)
check(pss < 15, f'the agent and its probes have less than 15 MB: {pss:.1f}', pss)
check(share < 0.6, f'and take little of a core: {share:.2f} % (promised 0.3 on a machine with nothing else to do)', share)

# ---- killed again and again, both sides: nothing lost, nothing twice
first = 1000
n = first
for k in range(KILLS):
    for _ in range(random.randint(5, 60)):
        a.write(fault(n))
        n += 1
        time.sleep(0.005)
    victim = random.choice(['agent', 'controller', 'both'])
    if victim != 'controller':
        a.kill()
    if victim != 'agent':
        controller.kill()
    for _ in range(random.randint(0, 20)):
        a.write(fault(n))
        n += 1
    if victim != 'agent':
        controller.start()
    if victim != 'controller':
        a.start()
    time.sleep(random.uniform(0, 0.5))
until(lambda: a.metric('muster_agent_spool_bytes') == 0 and a.metric('muster_agent_controller_up') == 1, 30)
time.sleep(1)
held_back = int(a.metric('muster_agent_held_back_total'))
check(controller.stop() == 0, 'the controller stops cleanly')
heard = [m for m in numbers(controller.events('kernel_heard')) if m >= first]
told = sum(e['body']['count'] for e in controller.events('agent_said') if e['body']['word'] == 'dropped')
lost = set(range(first, n)) - set(heard)
check(len(heard) == len(set(heard)), f'no record twice over {KILLS} kills: {len(heard)} of {n - first} written',
      sorted(heard)[:5])
check(len(lost) <= told, f'none lost that was not told of: {len(lost)} missing, {told} told (the budget of one kind)',
      sorted(lost)[:20])
check(len(heard) >= (n - first) * 0.9, 'and hardly any was held back', (len(heard), n - first, held_back))
verify = run('journal', 'verify', os.path.join(controller.state, 'journal.db'))
check(verify.returncode == 0, 'the journal verifies', verify.stdout + verify.stderr)
finish()
