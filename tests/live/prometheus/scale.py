"""What scraping 2,048 nodes (16,384 GPUs) costs the controller. By hand: python3 scale.py build/release/muster -"""
import json
import os
import re
import time

from town import Controller, Exporters, check, finish, page, until, write

NODES = int(os.environ.get('MUSTER_TARGETS', '2048'))
names = [f'node{n:04d}' for n in range(1, NODES + 1)]
exporters = Exporters()
for n in names:
    exporters.pages['/' + n] = page(n)
town = Controller(nodes=NODES)
town.start('--scrape', write('targets.json', json.dumps([exporters.target('/' + n, node=n) for n in names])), '--every', '15s')
check(until(lambda: town.metric('muster_scrape_targets', '{state="up"}') == NODES, 60), f'{NODES} targets answer', town.metrics())


def cpu_s():
    tasks = f'/proc/{town.child.pid}/task'
    return sum(int(open(f'{tasks}/{t}/schedstat').read().split()[0]) for t in os.listdir(tasks)) / 1e9


before, samples, began = cpu_s(), town.metric('muster_scrape_samples_total'), time.monotonic()
time.sleep(30)
took = time.monotonic() - began
share = 100 * (cpu_s() - before) / took
rate = (town.metric('muster_scrape_samples_total') - samples) / took
rss = int(re.search(r'VmRSS:\s+(\d+)', open(f'/proc/{town.child.pid}/status').read())[1]) / 1024
print(f'    {NODES} nodes every 15 s: {share:.1f} % of a core, {rss:.0f} MB, {rate:.0f} readings a second', flush=True)
check(share < 25 and rss < 500 and not town.findings(), 'a quarter of a core and 500 MB are more than it takes', town.findings())
finish()
