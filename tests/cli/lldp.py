"""A network that ibnetdiscover would print, as LLDP tells of it."""
import re


def lldp_of(text, switches=True):
    """What lldpctl -f keyvalue prints on all hosts, and on the switches unless only hosts are asked."""
    names = dict(re.findall(r'^(?:Switch|Ca)\s+\d+ "([^"]+)"\s+# "([^"]+)"', text, re.M))
    out, here = [], ''
    for line in text.splitlines():
        head = re.match(r'(?:Switch|Ca)\s+\d+ "([^"]+)"', line)
        here = head[1] if head else here
        cable = re.match(r'\[(\d+)\][^"]*"([^"]+)"\[(\d+)\]', line)
        if not cable or (here[0] == 'S' and not switches):
            continue
        near, far = names[here], names[cable[2]]
        who, port = (near, f'swp{cable[1]}') if here[0] == 'S' else near.split()
        whom, far_port = (far, f'swp{cable[3]}') if cable[2][0] == 'S' else far.split()
        system = 'Cumulus Linux 5.9' if cable[2][0] == 'S' else 'Ubuntu 24.04'
        out += [f'{who}: lldp.{port}.chassis.name={whom}', f'{who}: lldp.{port}.chassis.descr={system}',
                f'{who}: lldp.{port}.port.ifname={far_port}', f'{who}: lldp.{port}.port.auto-negotiation.current=200GbaseCR4']
    return '\n'.join(out) + '\n'
