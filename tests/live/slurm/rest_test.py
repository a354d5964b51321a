"""rest_test.py MUSTER: nodes read through a real slurmrestd, behind its socket and behind its port with a token. When the token
is wrong or expired, slurmrestd is killed and comes back, or its answers are cut in half, Muster says what is wrong, reads with
scontrol meanwhile, does nothing on that account, and goes back."""
import os
import shutil
import socket
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
import lab_config  # noqa: E402
from controller import wait_for  # noqa: E402
from held import check, finish  # noqa: E402
from stage import controllers, lab_or_skip, muster_on  # noqa: E402


class Proxy:
    """Passes bytes between a port of its own and another. While `cut` is set, a list of nodes ends in the middle: short of the
    length that was promised ('short'), or with a length that hides it ('smooth')."""

    def __init__(self, port):
        self.to, self.cut, self.asked = port, '', 0
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.one, args=(client,), daemon=True).start()

    def one(self, client):
        with client, socket.create_connection(('127.0.0.1', self.to)) as server:
            asked = b''
            while b'\r\n\r\n' not in asked:
                part = client.recv(65536)
                if not part:
                    return
                asked += part
            self.asked += 1
            server.sendall(asked.replace(b'\r\n\r\n', b'\r\nConnection: close\r\n\r\n', 1))
            head, _, body = self.whole(server).partition(b'\r\n\r\n')
            if self.cut and b'/nodes' in asked.split(b'\r\n')[0]:
                body = body[:len(body) // 2]
                if self.cut == 'smooth':
                    lines = [x for x in head.split(b'\r\n') if not x.lower().startswith(b'content-length')]
                    head = b'\r\n'.join([*lines, b'Content-Length: %d' % len(body)])
            client.sendall(head + b'\r\n\r\n' + body)

    @staticmethod
    def whole(server):
        server.settimeout(5)
        got = b''
        while True:
            head, found, body = got.partition(b'\r\n\r\n')
            if found:
                length = [int(x.split(b':')[1]) for x in head.split(b'\r\n') if x.lower().startswith(b'content-length')]
                if length and len(body) >= length[0]:
                    return got
            part = server.recv(65536)
            if not part:
                return got
            got += part


def held(muster, node):
    """Whether the journal says that somebody holds the node."""
    words = [e['body'] for e in muster.of('node_held') if e['body']['node'] == node]
    return bool(words and words[-1]['held'])


def follows(lab, muster, how, number):
    """A person's drain and its end are seen: by whichever way, nodes are followed."""
    name = lab.nodes[number]
    lab.out('scontrol', 'update', f'NodeName={name}', 'State=DRAIN', 'Reason=bad fan')
    seen = wait_for(lambda: held(muster, number), 15)
    lab.out('scontrol', 'update', f'NodeName={name}', 'State=RESUME')
    back = wait_for(lambda: not held(muster, number), 15)
    check(seen and back, f'nodes are followed {how}', muster.said()[-600:])


def says(muster, words, seconds=30):
    """What the log has after now."""
    size = os.path.getsize(muster.log)

    def found():
        with open(muster.log) as f:
            f.seek(size)
            return words in f.read()
    return lambda: wait_for(found, seconds)


def acts(muster):
    return [e['body']['order']['action']['verb'] for e in muster.of('order_intended')]


def run_for(lab, program, name, rest):
    muster = muster_on(lab, program, rest=rest)
    muster.state = os.path.join(lab.dir, f'muster-{name}')
    muster.log = os.path.join(lab.dir, 'log', f'muster-{name}.log')
    open(muster.log, 'a').close()
    return muster.start()


def on_socket(lab, program):
    muster = run_for(lab, program, 'socket', {'url': f'unix:{lab.about["rest_socket"]}'})
    check(wait_for(lambda: 'nodes are read from slurmrestd' in muster.said(), 15), 'nodes are read from slurmrestd by its socket',
          muster.said())
    print('#', *[line.strip() for line in muster.said().splitlines() if 'slurmrestd' in line])
    follows(lab, muster, 'through its socket', 1)
    node = lab.nodes[2]
    lab.kill('slurmd', node)
    down = wait_for(lambda: [e['body'] for e in muster.of('node_changed') if e['body']['node'] == 2
                             and e['body']['condition'] == 'down'], 60)
    check(down, 'a node whose slurmd is gone is down', muster.of('node_changed')[-3:])
    lab.restart('slurmd', node)
    check(wait_for(lambda: [e['body']['condition'] for e in muster.of('node_changed') if e['body']['node'] == 2][-1] == 'up', 30),
          'and up again when it is back', muster.of('node_changed')[-3:])
    fell = says(muster, 'nodes are read with scontrol meanwhile')
    lab.kill('slurmrestd')
    check(fell(), 'slurmrestd is killed: Muster says so', muster.said()[-600:])
    follows(lab, muster, 'without slurmrestd', 1)
    back = says(muster, 'answers again', 60)
    lab.restart('slurmrestd')
    check(back(), 'it is back: Muster uses it again', muster.said()[-600:])
    follows(lab, muster, 'as before', 1)
    fell = says(muster, 'Slurm does not answer', 60)
    time.sleep(8)  # slurmctld writes down within five seconds what became of nodes, or it forgets that one was resumed
    lab.kill('slurmctld')
    check(fell(), 'slurmctld is killed: it is Slurm that does not answer, not slurmrestd', muster.said()[-600:])
    back = says(muster, 'answers again', 60)
    lab.restart('slurmctld')
    check(back(), 'and does again', muster.said()[-600:])
    # A node that is not back yet cannot be drained and resumed.
    check(lab.wait_idle(60), 'with all its nodes', lab.out('sinfo', '-R'))
    check(not acts(muster), 'nothing was done on account of all this', acts(muster))
    check(muster.stop() == 0, 'Muster ends in the clean way')


def on_port(lab, program):
    token = f'{lab.dir}/muster-token'
    good = lab.out('scontrol', 'token', 'username=root', 'lifespan=3600').strip()
    lab_config.write(token, good + '\n', 0o600)
    proxy = Proxy(lab.about['rest_port'])
    muster = run_for(lab, program, 'port', {'url': f'http://127.0.0.1:{proxy.port}', 'user': 'root', 'token_file': token})
    check(wait_for(lambda: 'nodes are read from slurmrestd' in muster.said(), 15), 'with a token, from its port',
          muster.said())
    follows(lab, muster, 'through its port', 1)
    check(proxy.asked > 6, 'which is asked again and again', proxy.asked)

    def trouble(what, words, begin, end):
        fell, back = says(muster, words), None
        begin()
        check(fell(), f'{what}: Muster says so', muster.said()[-800:])
        follows(lab, muster, 'with scontrol then', 1)
        back = says(muster, 'answers again', 60)
        end()
        check(back(), f'{what} no more: Muster goes back to slurmrestd', muster.said()[-600:])

    def mend():
        lab_config.write(token, good + '\n', 0o600)
    trouble('a token signed with another key', 'does not take the token', lambda: lab_config.write(
        token, good.partition('=')[2].rpartition('.')[0] + '.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n', 0o600), mend)
    trouble('no token at all', 'it is no JSON web token', lambda: lab_config.write(token, 'secret\n', 0o600), mend)

    def expire():
        short = lab.out('scontrol', 'token', 'username=root', 'lifespan=1').strip()
        time.sleep(2)
        lab_config.write(token, short + '\n', 0o600)
    trouble('an expired token', 'expired at 2', expire, mend)
    trouble('a token file that is gone', 'cannot be read', lambda: os.unlink(token), mend)
    for how in ('short', 'smooth'):
        trouble(f'answers cut in half ({how})', 'slurmrestd', lambda how=how: setattr(proxy, 'cut', how),
                lambda: setattr(proxy, 'cut', ''))
    check(not acts(muster), 'nothing was done on account of all this', acts(muster))
    downs = [e['body'] for e in muster.of('node_changed') if e['body']['condition'] == 'down']
    check(not downs, 'and no node was taken for lost', downs)
    check(muster.stop() == 0, 'Muster ends in the clean way')
    with open(muster.log) as f:
        check(good.partition('=')[2] not in f.read(), 'no token is in the log')


def main():
    program = os.path.abspath(sys.argv[1])
    lab = lab_or_skip('rest', nodes=4, leaf=2)
    on_socket(lab, program)
    on_port(lab, program)
    for c in controllers:
        shutil.rmtree(c.state, ignore_errors=True)
    finish()


main()
