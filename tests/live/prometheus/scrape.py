"""muster up --scrape: exporters asked directly, to findings; the file changes, breaks, targets die and come back."""
import json
import os
import time

from town import Controller, Exporters, check, finish, page, path, text_of, until, write

exporters = Exporters()
for n in range(1, 9):
    exporters.pages[f'/node{n:04d}'] = page(f'node{n:04d}', generation=4.6 if n % 2 else 4.5)
exporters.pages['/stray'] = page('elsewhere')
targets = [exporters.target('/node0001', node='node0001'), exporters.target('/node0002', instance='node0002.example.org:9400'),
           *[exporters.target(f'/node{n:04d}') for n in range(3, 9)],  # by the label Hostname in their pages
           exporters.target('/stray')]
sd = write('targets.json', json.dumps(targets))

town = Controller()
town.start('--scrape', sd, '--every', '1s')
check(until(lambda: town.metric('muster_scrape_targets', '{state="up"}') == 9), 'nine targets answer', town.metrics())
check(until(lambda: town.metric('muster_scrape_unknown_targets') == 1), 'the one that is nobody\'s is counted', town.metrics())
check('belong to no node' in text_of(town.log), 'and said', text_of(town.log))
check(not town.findings(), 'healthy nodes, by label, by instance and by the page\'s own word: no finding', town.findings())

# ---- what pages say
exporters.pages['/node0003'] = page('node0003', generation=4.6, dbe={5: 1})
exporters.pages['/node0004'] = page('node0004', pending={2: 1})
exporters.pages['/node0005'] = page('node0005', gpus=[0, 1, 2, 4, 5, 6, 7])
found = until(lambda: {(f['node'], f.get('gpu_slot'), f['kind']) for f in town.findings()} >= {
    ('node0003', 5, 'ecc_uncorrectable'), ('node0004', 2, 'row_remap_pending'), ('node0005', 3, 'gpu_lost')})
check(found, 'an uncorrectable error (new names), a pending remap (old ones) and a GPU gone from its page are found',
      town.findings())
exporters.pages['/node0005'] = page('node0005')
check(until(lambda: not town.findings('gpu_lost')), 'the GPU that is back clears its finding', town.findings())

# ---- keep-alive and the jitter
before = exporters.connections
time.sleep(2.2)
check(exporters.connections - before <= 2, f'connections stay open: {exporters.connections - before} new ones in 2 s', before)
moments = sorted(asked[-1][0] % 1 for asked in exporters.asked.values())
check(moments[-1] - moments[0] > 0.2, 'targets are asked at different moments of the interval', moments)
check(all(e == '' for asked in exporters.asked.values() for _, e in asked), 'small pages are not asked for compressed')
exporters.pages['/node0006'] = page('node0006', pending={1: 1}) + '# ' + 'x' * 100_000 + '\n'
check(until(lambda: exporters.asked['/node0006'][-1][1] == 'gzip', 5), 'large ones are', exporters.asked['/node0006'][-3:])
exporters.pages['/node0006'] = page('node0006', dbe={4: 1}) + '# ' + 'x' * 100_000 + '\n'
check(until(lambda: [f for f in town.findings('ecc_uncorrectable') if f['node'] == 'node0006']),
      'and what comes compressed is read', town.findings())

# ---- a page that is too large, a status, nonsense
exporters.pages['/node0006'] = 'x' * (17 << 20)
exporters.pages['/node0007'] = 500
exporters.pages['/node0008'] = '<html>not metrics</html>\n' * 20
check(until(lambda: town.metric('muster_scrape_targets', '{state="down"}') == 2, 10),
      'a page of 17 MB (17 kB compressed) and a 500 count as down', town.metrics())
check((town.metric('muster_scrape_lines_refused_total') or 0) >= 20, 'lines that are none are counted', town.metrics())
asked = len(exporters.asked['/node0007'])
time.sleep(3)
more = len(exporters.asked['/node0007']) - asked
check(more <= 3, f'who fails is asked less often: {more} times in 3 s at an interval of 1 s', more)
for n in (6, 7, 8):
    exporters.pages[f'/node{n:04d}'] = page(f'node{n:04d}')
check(until(lambda: town.metric('muster_scrape_targets', '{state="up"}') == 9, 20), 'and is back when it answers', town.metrics())

# ---- the file
write('targets.json', '[{"targets": ["broken')
check(until(lambda: 'targets.json: byte' in town.metrics() or 'stay in use' in text_of(town.log)),
      'a broken file is said, and the targets of before stay', text_of(town.log))
check(town.metric('muster_scrape_targets', '{state="up"}') == 9, 'they still answer', town.metrics())
os.remove(path('targets.json'))
time.sleep(1.5)
check(town.metric('muster_scrape_targets', '{state="up"}') == 9, 'a file that is gone changes nothing either', town.metrics())
write('targets.json', json.dumps(targets[:8]))
check(until(lambda: town.metric('muster_scrape_targets', '{state="up"}') == 8), 'a good one is used at once', town.metrics())
asked = len(exporters.asked['/stray'])
time.sleep(1.5)
check(len(exporters.asked['/stray']) == asked, 'what it no longer has is no longer asked')
check(town.stop() == 0, 'it stops cleanly', text_of(town.log)[-1000:])
finish()
