"""Cables, through the whole program: a link's findings name the switch, its port and the cable, on every face; what is wrong in
a cabling plan is refused; a plan that changed is taken up by the next start."""
import json
import shutil

from town import Alertmanager, Controller, Exporters, ask, check, finish, page, run, text_of, until, write


def plan(label):
    return ('node,nic,switch,port,cable,length_m\n'
            f'node0002,3,leaf03,17,{label},5\nnode0002,mlx5_0,leaf00,17,C-00409,5\nnode0002,mlx5_8,store1,4,S-1,2\n')


def infiniband(errors):
    name = 'node_infiniband_local_link_integrity_errors_total'
    return ''.join(f'{name}{{device="mlx5_{n}",port="1"}} {errors if n == 3 else 0}\n' for n in range(8))


town = Controller()
with open(town.cluster, 'a') as f:
    f.write('cables: plan.csv\n')

# ---- what is wrong is said with file and line, and nothing is started
write('plan.csv', plan('C-00412') + 'node0002,mlx5_3,leaf04,1,C-7,5\n')
wrong = run('up', '--cluster', town.cluster, '--state', town.state, '--port', str(town.port))
check(wrong.returncode == 2 and 'plan.csv:5: NIC 3 of node0002 has a cable already, at ' in wrong.stderr,
      'a NIC with two cables is refused with file and line', (wrong.returncode, wrong.stderr))
write('plan.csv', plan('C-00412'))

# ---- a link that goes down and comes back, by the kernel's word; one that loses data, by the exporter's
exporters = Exporters()
exporters.pages['/node0002'] = page('node0002') + infiniband(0)
sd = write('targets.json', json.dumps([exporters.target('/node0002', node='node0002')]))
alertmanager = Alertmanager() if shutil.which('prometheus-alertmanager') else None
more = ('--alertmanager', f'http://127.0.0.1:{alertmanager.port}') if alertmanager else ()
town.start('--scrape', sd, '--every', '1s', *more)
until(lambda: town.metric('muster_scrape_targets', '{state="up"}') == 1)
for seq, what in enumerate(('Link down', 'Link up'), 1):
    status, text = town.hand_in('node0002', seq, f'mlx5_core 0000:61:01.0 ibs3: {what}')
    check(status == 200, f'"{what}" is taken', (status, text))
exporters.pages['/node0002'] = page('node0002') + infiniband(9)
found = until(lambda: town.findings('link_flap') and town.findings('ib_degraded'))
server = ('--server', f'http://127.0.0.1:{town.port}')
out = run('get', 'findings', '-o', 'json', *server)
items = {f['kind']: f for f in json.loads(out.stdout)['items']} if out.returncode == 0 else {}
for kind in ('link_flap', 'ib_degraded'):
    where = items.get(kind, {}).get('where', {})
    said = [where.get(key) for key in ('nic', 'switch', 'port', 'cable')]
    check(said == ['mlx5_3', 'leaf03', '17', 'C-00412'], f'{kind}: get findings -o json names NIC, switch, port and cable',
          (out.stdout, out.stderr))
wide = run('get', 'findings', '-o', 'wide', *server).stdout
row = next((line for line in wide.splitlines() if 'link_flap' in line), '')
check('SWITCH' in wide and all(w in row.split() for w in ('mlx5_3', 'leaf03', '17', 'C-00412')), 'so does -o wide', wide)
number = str(items.get('link_flap', {}).get('id', 0))
words = 'node0002, NIC mlx5_3, cable C-00412 to port 17 of leaf03'
check(words in run('describe', 'finding', number, *server).stdout, 'describe says it in words',
      run('describe', 'finding', number, *server).stdout)
check(words in run('explain', 'finding', number, *server).stdout, 'and so does explain',
      run('explain', 'finding', number, *server).stdout)
if alertmanager:
    alert = until(lambda: [a for a in alertmanager.alerts() if a['labels']['kind'] == 'link_flap'])
    check(alert and alert[0]['labels'].get('switch') == 'leaf03' and alert[0]['annotations'].get('port') == '17' and
          alert[0]['annotations'].get('cable') == 'C-00412' and 'cable C-00412 to port 17 of leaf03' in
          alert[0]['annotations']['summary'], 'Alertmanager has them', alertmanager.alerts())

# ---- the cable is replaced: the plan changes, the journal goes on
check(town.stop() == 0, 'it stops cleanly', text_of(town.log)[-1000:])
write('plan.csv', plan('C-99999'))
town.start('--scrape', sd, '--every', '1s')
found = town.findings('link_flap')
check(found and found[0]['where']['cable'] == 'C-99999', 'another label in the plan is no other cluster: the next start shows it',
      (found, text_of(town.log)[-1000:]))
check(town.stop() == 0, 'it stops cleanly again', text_of(town.log)[-1000:])
town.start('--scrape', sd, '--every', '1s')
events = run('journal', 'export', town.state + '/journal.db', '--type', 'cables_declared').stdout.splitlines()
check(len(events) == 2, 'cables are journaled when they changed and not with every start', events)
check('"status":"ok"' in ask(town.port, '/healthz')[1], 'and all is well', text_of(town.log)[-1000:])
finish()
