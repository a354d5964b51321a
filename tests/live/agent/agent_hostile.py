"""What a stolen agent's token can do, and what happens to batches that no agent of ours would send."""
import http.client
import json
import os

from ward import Controller, check, finish, get, until

controller = Controller()
controller.start()
token = open(os.path.join(controller.state, 'agent-token')).read().strip()


def ask(method, path, body='', bearer=token, headers=None):
    link = http.client.HTTPConnection('127.0.0.1', controller.port, timeout=5)
    try:
        link.request(method, path, body, {**({'authorization': 'Bearer ' + bearer} if bearer else {}),
                                          'content-type': 'application/json', **(headers or {})})
        answer = link.getresponse()
        return answer.status, answer.read().decode(errors='replace')
    except OSError as e:
        return 0, str(e)
    finally:
        link.close()


def batch(node='node0001', items=(), **more):
    return json.dumps({'node': node, 'items': list(items), **more})


def record(seq, text, **more):
    return {'stream': 'kernel', 'boot': 'b', 'seq': seq, 'age_ms': 0, 'trusted': True, 'kmsg': f'3,{seq},{seq},-;{text}', **more}


LOST = 'NVRM: Xid (PCI:0000:1b:00): 79, pid=1, name=x, GPU has fallen off the bus.'

# ---- who may
for bearer, name in ((None, 'without a token'), ('x' * 64, 'with a wrong token'), (token[:-1], 'with a cut token')):
    status, text = ask('POST', '/api/v1/intake', batch(), bearer)
    check(status in (401, 403), f'{name} nothing is taken: {status}', text)
routes = [('POST', '/api/v1/commands', '{"verb": "drain", "node": "node0001"}'), ('POST', '/api/v1/logins', '{}'),
          ('POST', '/api/v1/tools/explain', '{}'), ('GET', '/api/v1/findings', ''), ('GET', '/api/v1/nodes', ''),
          ('GET', '/api/v1/events', ''), ('GET', '/api/v1/jobs', ''), ('GET', '/', '')]
refused = {path: ask(method, path, body)[0] for method, path, body in routes}
check(all(s == 403 for s in refused.values()), 'the agents\' token opens nothing else: it neither acts nor reads', refused)

# ---- what is taken
status, text = ask('POST', '/api/v1/intake', batch(items=[record(1, 'NVRM: Xid (PCI:0000:1b:00): 31, pid=1, name=x.')]))
check(status == 200, 'a batch as an agent sends it is taken', text)
cases = {
    'no JSON': ('{', (400,)), 'a list': ('[]', (400, 404)), 'a number': ('7', (400, 404)), 'nothing': ('', (400,)),
    'no node': ('{"items": []}', (400, 404)), 'a node that is not ours': (batch('node9999'), (404,)),
    'a node that is a path': (batch('../../etc/passwd'), (404,)),
    'a node that is a number': ('{"node": 7, "items": []}', (400, 404)),
    'a node of 10,000 letters': (batch('n' * 10000), (404,)),
    'more items than one batch may have': (batch(items=[record(k, LOST) for k in range(5000)]), (400, 413)),
    'a body of 9 MB': (batch(scrape='x' * (9 << 20)), (400, 413, 0)),
    'nesting 100,000 deep': ('{"node":"node0001","items":' + '[' * 100000 + ']' * 100000 + '}', (400,)),
    'two nodes in one': ('{"node":"node0001","node":"node0002","items":[]}', (400,)),
}
for name, (body, wanted) in cases.items():
    status, text = ask('POST', '/api/v1/intake', body)
    says = status == 0 or 'error' in text or 'title' in text or 'detail' in text or 'what' in text
    check(status in wanted and says, f'{name}: refused with {status} and a reason', (status, text[:300]))

# ---- items that make no sense are left out, and the rest of the batch is taken
odd = [7, None, [], 'x', {}, {'stream': 'kernel'}, {'stream': 'kernel', 'boot': '', 'seq': 1, 'kmsg': LOST},
       record(-5, LOST), record(2**63, LOST), record(0, LOST), {**record(9, LOST), 'seq': 'nine'}, {**record(9, LOST), 'kmsg': 7},
       {'stream': 'agent', 'boot': 'b', 'seq': 3, 'word': 'shout'}, {'stream': 'agent', 'boot': 'b', 'seq': 4, 'xid': -1},
       {'stream': 'agent', 'boot': 'b', 'seq': 5, 'xid': 1e99}, {'stream': 'agent', 'boot': 'b', 'seq': 6, 'gpu': []},
       {'stream': 'agent', 'boot': 'b', 'seq': 7, 'facts': {'a': 7}},
       {'stream': 'agent', 'boot': 'b', 'seq': 8, 'gpu': {'uuid': ''}},
       {'stream': 'agent', 'boot': 'b', 'seq': 9, 'facts': {str(k): 'x' for k in range(1000)}}]
before = len(controller.events('kernel_heard'))
status, text = ask('POST', '/api/v1/intake', batch('node0002', odd))
check(status == 200, 'a batch of 19 items without sense is answered, so that no agent sends it for ever', text)
check(len(controller.events('kernel_heard')) == before, 'and none of them is an event')

# ---- a user's line inside a kernel record, in every place where users can write
forged = [f'11,{k},1,-;{LOST}' for k in (1, 2)] + [
    f'3,3,1,-;systemd[1]: {LOST}', f'3,4,1,-; {LOST}', f'3,5,1,-;x\n{LOST}',
    f'3,6,1,-;a.out[7]: segfault at 0 ip 0 sp 0 error 4 in {LOST}',
    f'3,7,1,-;oom-kill:constraint=NONE,nodemask=(null),cpuset=/,task_memcg=/{LOST}', f'3,8,1,-\n;{LOST}']
for k, text in enumerate(forged):
    ask('POST', '/api/v1/intake', batch('node0003', [{**record(100 + k, ''), 'kmsg': text}]))
heard = [e for e in controller.events('kernel_heard') if e['source']['stream'] == 'agent/node0003/kernel']
check(not heard, f'{len(forged)} records with a user\'s text in them are no events', heard[:2])

# ---- what an H200 really said when a program wrote where nothing was: the program's fault, and no reason to drain
ask('POST', '/api/v1/intake', batch('node0005', [{'stream': 'agent', 'boot': 'i', 'seq': 1, 'gpu': {
    'index': 0, 'pci': '00000000:00:06.0', 'uuid': 'GPU-cc718f95', 'serial': '1653', 'vbios': '96.00.A5.00.1A'}}]))
for k in range(10):
    text = (f'NVRM: Xid (PCI:0000:00:06): 31, pid={887 + k}, name=muster_fault, channel 0x0000000a, intr 00000000. MMU Fault: '
            'ENGINE GRAPHICS GPC1 GPCCLIENT_T1_8 faulted @ 0x7f_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE\n')
    ask('POST', '/api/v1/intake', batch('node0005', [record(400 + k, text)]))
found = [f for f in json.loads(get(controller.port, '/api/v1/findings?open=1')[1])['items'] if f['node'] == 'node0005']
check([(f['kind'], f['gpu_slot']) for f in found] == [('app_error', 0)] and 'name=muster_fault' in str(found[0]['evidence']),
      'ten wild writes on an H200 are a finding that blames the program and names it', found)
check(json.loads(get(controller.port, '/api/v1/incidents')[1])['items'] == [], 'and no incident')

# ---- what no watch of a network would say


def fault(kind='dead_switch', ends=('leaf1',), **more):
    return {'kind': kind, 'ends': list(ends), **more}


def network(*faults, **more):
    return json.dumps({'fabric': {'complete': True, 'faults': list(faults), **more}})


LONG = 'x' * (10 << 20)
refused = (400,)
large = (400, 413, 0)
cases = {
    'a number': ('{"fabric": 7}', refused), 'nothing': ('{"fabric": null}', refused), 'a list': ('{"fabric": [[]]}', refused),
    'nesting 100,000 deep': ('{"fabric":' + '[' * 100000 + ']' * 100000 + '}', refused),
    'both of a node and of the network': (json.dumps({'node': 'node0001', **json.loads(network())}), refused),
    'faults that are an object': (network(faults={}), refused), 'a fault that is a text': (network('leaf1'), refused),
    'complete in words': (network(complete='yes'), refused), 'a count that is a text': (network(left_out='many'), refused),
    'a kind that is a number': (network(fault(7)), refused), 'a kind that nobody knows': (network(fault('gremlins')), refused),
    'ends that are a text': (network({'kind': 'dead_switch', 'ends': 'leaf1'}), refused),
    'an end that is a number': (network(fault(ends=[7])), refused), 'no ends': (network(fault(ends=[])), refused),
    'nine ends': (network(fault(ends=[f'leaf{k}' for k in range(9)])), refused),
    'an end of 129 letters': (network(fault(ends=['x' * 129])), refused),
    'an end with control characters': (network(fault(ends=['leaf\x1b[31m1\n'])), refused),
    'a detail that is a list': (network(fault(detail=[])), refused),
    'more than sure': (network(fault(confidence=1e300)), refused),
    'nodes that are a text': (network(fault(nodes='node0001')), refused),
    'a node that is a number': (network(fault(nodes=[1])), refused),
    'more faults than one may tell': (network(*[fault(ends=[f'leaf{k}']) for k in range(1001)]), refused),
    'a name that is a number': (network(name=7), refused), 'a name of 65 letters': (network(name='x' * 65), refused),
    'a name with control characters': (network(name='rail\x1b[31m3'), refused),
    'a name that is a path': (network(name='../../etc/passwd'), refused),
    'a name with another in it': (network(name='rail3: dead_switch'), refused),
    'judged that is a text': (network(judged='rates'), refused), 'judged what nobody knows': (network(judged=['moods']), refused),
    'a name of 10 MB': (network(name=LONG), large), 'an end of 10 MB': (network(fault(ends=[LONG])), large),
    'a node of 10 MB': (network(fault(nodes=[LONG])), large), 'a detail of 10 MB': (network(fault(detail=LONG)), large),
}
for name, (body, wanted) in cases.items():
    status, text = ask('POST', '/api/v1/intake', body)
    check(status in wanted and (status == 0 or 'error' in text), f'of the network, {name}: refused with {status} and a reason',
          (status, text[:300]))
check(controller.events('fabric_said') == [], 'and none of it is an event', controller.events('fabric_said')[:2])


def of_network():
    items = json.loads(get(controller.port, '/api/v1/findings?open=1')[1])['items']
    return [f for f in items if f['kind'] == 'fabric_fault']


status, text = ask('POST', '/api/v1/intake', network(
    fault(ends=['leaf1']), fault(ends=['leaf2'], nodes=['node9999', '', 'n' * 10000, '../x']),
    fault(ends=['leaf3'], nodes=['node0001', 'node9999'] * 1000, detail='\x1b[31mred\x00' * 1000)))
said = controller.events('fabric_said')
check(status == 200 and len(said) == 1 and [len(f['nodes']) for f in said[0]['body']['faults']] == [0, 0, 1],
      'faults without nodes, and with nodes that are not ours, are taken without them', (text, said))
detail = said[0]['body']['faults'][2]['detail'] if said else ''
check(until(lambda: len(of_network()) == 3, 10) and detail.isprintable() and 0 < len(detail) <= 400,
      'with text that can be printed', detail)
answers = [ask('POST', '/api/v1/intake', network(fault(), name=f'rail{k}')) for k in range(100)]
check([s for s, _ in answers] == [200] * 63 + [400] * 37 and '64 networks' in answers[-1][1],
      'of 101 networks with faults 64 are taken, the others refused with the reason', (answers[62:64], answers[-1]))
for name in [''] + [f'rail{k}' for k in range(63)]:
    ask('POST', '/api/v1/intake', network(name=name))
check(until(lambda: not of_network(), 10) and ask('POST', '/api/v1/intake', network(fault(), name='rail99'))[0] == 200,
      'when they are sound again there is room', of_network()[:2])
ask('POST', '/api/v1/intake', network(name='rail99'))

# ---- a batch that is sent again, out of order, or under another node's name
again = batch('node0004', [record(k, f'NVRM: Xid (PCI:0000:1b:00): 31, pid={k}, name=x.') for k in range(10, 20)])
first, second = ask('POST', '/api/v1/intake', again)[0], ask('POST', '/api/v1/intake', again)[0]
heard = [e for e in controller.events('kernel_heard') if e['source']['stream'] == 'agent/node0004/kernel']
check(first == second == 200 and len(heard) == 10, f'a batch sent twice is taken once: {len(heard)} of 10')
status, text = get(controller.port, '/api/v1/actions')
check(status == 200 and json.loads(text)['items'] == [], 'nothing was done about any of it', text[:300])
check(get(controller.port, '/healthz')[0] == 200 and controller.stop() == 0, 'and the controller lives')
finish()
