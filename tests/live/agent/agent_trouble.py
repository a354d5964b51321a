"""What goes wrong around an agent: a driver that hangs for ever, a controller that is away, a full disk, a flood of lines."""
import os
import subprocess
import time

from ward import DIR, Agent, Controller, check, fault, finish, numbers, run, until

controller = Controller()
controller.start()

# ---- a driver that hangs, and a site's own probe that does
hang = os.path.join(DIR, 'hang')
a = Agent(controller, 1, more=['--deadline', '1s', '--probe', 'stuck=sleep infinity', '--probe', 'sour=echo bad disk; exit 3'],
          env={'FAKE_NVML_HANG': hang})
a.start()
check(until(lambda: controller.findings('driver_hang')), 'a probe that never comes back is a finding')
check(until(lambda: 'exit 3 bad disk' in run('check', '--spool', a.spool).stdout), 'a probe that complains is in the verdict',
      run('check', '--spool', a.spool).stdout)
open(hang, 'w').close()
check(until(lambda: a.metric('muster_probe_hung\\{probe="nvml"\\}') == 1), 'a driver that hangs is told within its deadline')
verdict = run('check', '--spool', a.spool)
check(verdict.returncode == 6 and 'nvml does not answer' in verdict.stdout, 'muster check names it, exit code 6', verdict.stdout)
check(a.metric('DCGM_FI_DEV_GPU_TEMP') is None, 'old values do not pass for new ones')
began = time.monotonic()
a.write(fault(7))
check(until(lambda: controller.findings('hearsay'), 5), 'and the kernel log is followed all the same')
print(f'    line to finding with a hung driver: {1000 * (time.monotonic() - began):.0f} ms, asked every 20 ms', flush=True)
os.remove(hang)
check(until(lambda: a.metric('DCGM_FI_DEV_GPU_TEMP') == 41, 30), 'when the driver answers again, so does the agent')
a.kill()

# ---- a controller that is away
b = Agent(controller, 2)
b.start()
until(lambda: b.metric('muster_agent_controller_up') == 1)
controller.kill()
for n in range(150):
    b.write(fault(n))
check(until(lambda: (b.metric('muster_agent_spool_bytes') or 0) > 150 * 80), 
      'what happens while the controller is away waits on disk')
b.kill()
b.start()
controller.start()
check(until(lambda: b.metric('muster_agent_spool_bytes') == 0, 30), 'and reaches it when both are back')
check(sorted(m for m in numbers(controller.events('kernel_heard')))[-1] == 149, 'to the last line')
b.kill()

# ---- a hole in the kernel's numbers
c = Agent(controller, 3)
c.start()
c.write('6,10,1,-;a\n6,11,1,-;b\n6,50,1,-;c\n')
gaps = until(lambda: [e for e in controller.events('agent_said') if e['body']['word'] == 'kernel_gap'])
check(gaps and gaps[0]['body']['count'] == 38, 'a hole in the kernel\'s numbers is itself an event', gaps)

# ---- a flood: 100,000 lines a second, some of which mean something
line = '6,{0},{0},-;' + 'audit: type=1400 something that nobody needs to know about {0}\n'
total, seconds = 0, 5
sizes = []
began = time.monotonic()
for second in range(seconds):
    for piece in range(20):
        c.write(''.join(line.format(k) for k in range(total, total + 4990)) +
                ''.join(fault(total + k) for k in range(5)) +
                ''.join(fault(192 * (total + k)) for k in range(5)))
        total += 5000
        sizes.append(c.rss_mb())
    time.sleep(max(0, began + second + 1 - time.monotonic()))
flooded = time.monotonic() - began
check(until(lambda: sizes.append(c.rss_mb()) or c.metric('muster_agent_kernel_records_total') == total + 3, 60),
      f'a flood of {total / flooded:,.0f} lines a second is read to its end, {time.monotonic() - began - flooded:.1f} s after it',
      (c.metric('muster_agent_kernel_records_total'), total))
check(max(sizes) < 64, f'with {max(sizes):.1f} MB resident at most', max(sizes))
faults = int(c.metric('muster_agent_kernel_faults_total'))
check(faults == seconds * 20 * 10, f'every record that means something was understood: {faults}')
until(lambda: c.metric('muster_agent_spool_bytes') == 0, 30)
time.sleep(2.5)
said = [e['body'] for e in controller.events('agent_said') if e['source']['stream'] == 'agent/node0003']
told = sum(s['count'] for s in said if s['word'] == 'dropped')
came = len([e for e in controller.events('kernel_heard') if e['source']['stream'] == 'agent/node0003/kernel'])
check(came + told == faults, f'what was dropped is what it says it dropped: {came} sent + {told} told of = {faults}', said[-5:])
c.kill()

# ---- a disk that is full
small = os.path.join(DIR, 'small')
os.mkdir(small)
if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=128k', 'tmpfs', small], capture_output=True).returncode == 0:
    d = Agent(controller, 4, spool=os.path.join(small, 'spool'))
    d.start()
    until(lambda: d.metric('muster_agent_controller_up') == 1)
    controller.kill()
    filler = os.open(os.path.join(small, 'filler'), os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(filler, b'x' * 4096):
            pass
    except OSError:
        os.close(filler)
    count = 0
    for _ in range(40):
        d.write(''.join(fault(count + k, 'x' * 400) for k in range(190)))
        count += 190
        time.sleep(0.1)
    until(lambda: d.metric('muster_agent_kernel_faults_total') == count)
    dropped, held = int(d.metric('muster_agent_dropped_total')), int(d.metric('muster_agent_held_back_total'))
    check(dropped > 0, f'with a full disk and no controller, what does not fit in memory is counted: {dropped} of {count}')
    check(d.rss_mb() < 64, f'and memory stays small: {d.rss_mb():.1f} MB')
    os.remove(os.path.join(small, 'filler'))
    controller.start()
    until(lambda: d.metric('muster_agent_spool_bytes') == 0 and d.metric('muster_agent_controller_up') == 1, 30)
    time.sleep(2.5)
    said = [e['body'] for e in controller.events('agent_said') if e['source']['stream'] == 'agent/node0004']
    told = sum(s['count'] for s in said if s['word'] == 'dropped')
    came = len([e for e in controller.events('kernel_heard') if e['source']['stream'] == 'agent/node0004/kernel'])
    check(came + told == count, f'with room and a controller again, all is accounted for: {came} came + {told} told of = {count}',
          said[-5:])
    d.kill()
else:
    print('    the full disk was left out: mounting a small one needs root', flush=True)
controller.stop()
finish()
