#!/usr/bin/env python3
"""tally.py FILE [--say]: reads ctest's JUnit file and prints what ran, what was skipped and why, what failed with its output, and
the closing line. With --say, also what each script said of each check, figures included.

Counted are GoogleTest cases, the summary of `node --test`, and lines `ok - NAME`, `not ok - NAME` and `skip - NAME: REASON` that
scripts print, one a check. A program that prints none of these counts as one; a program that fails without a failed case (a
crash, a time-out) counts as one failure.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

GTEST = re.compile(r'^\[ +(OK|FAILED|SKIPPED) +\] (\S+).*\(\d+ ms\)$')
CHECK = re.compile(r'^(ok|not ok|skip)\b(?: \d+)?(?: -)? (.*)$')
NODE = re.compile(r'^(?:#|\u2139) (pass|fail|cancelled|skipped|todo) (\d+)$')
NODE_SKIP = re.compile(r'^\s*\ufe63 (.*?)(?: \([0-9.]+ms\))? # (?:SKIP|(.*))$|^\s*ok \d+ - (.*?) # SKIP ?(.*)$')
KIND = {'OK': 'passed', 'FAILED': 'failed', 'SKIPPED': 'skipped', 'ok': 'passed', 'not ok': 'failed', 'skip': 'skipped',
        'pass': 'passed', 'fail': 'failed', 'cancelled': 'failed', 'todo': 'skipped'}


def count(output):
    """Counts of one program, (name, reason) of each check it skipped, and the names of those that failed."""
    counts = {'passed': 0, 'failed': 0, 'skipped': 0}
    skips, failed = [], []
    lines = output.splitlines()
    node = any(NODE.match(line) for line in lines)
    reason = ''
    for line in lines:
        gtest, check, summary = GTEST.match(line), CHECK.match(line), NODE.match(line)
        if gtest:
            counts[KIND[gtest[1]]] += 1
            if gtest[1] == 'SKIPPED':
                skips.append((gtest[2], reason))
            elif gtest[1] == 'FAILED':
                failed.append(gtest[2])
            reason = ''
        elif summary:
            counts[KIND.get(summary[1], summary[1])] += int(summary[2])
        elif node and NODE_SKIP.match(line):
            found = NODE_SKIP.match(line)
            skips.append((found[1] or found[3], found[2] or found[4] or ''))
        elif check and not node:
            counts[KIND[check[1]]] += 1
            if check[1] == 'skip':
                skips.append(check[2].partition(': ')[::2])
            elif check[1] == 'not ok':
                failed.append(check[2])
        elif line.strip() and not line.startswith('['):
            reason = '' if 'Skipped' in line and line.strip().endswith('Skipped') else line.strip()
    return counts, skips, failed


def judge(case):
    """(counts, skips, failed) of one <testcase>. A program that ctest could not start failed; one that asked to be skipped is
    skipped."""
    output = case.findtext('system-out') or ''
    status = case.get('status')
    counts, skips, failed = count(output)
    if status == 'run' and not any(counts.values()):
        counts['passed'] = 1
    elif status in ('notrun', 'disabled'):
        message = case.find('skipped').get('message', '') if case.find('skipped') is not None else ''
        if status == 'notrun' and not message.startswith('SKIP_'):
            counts['failed'] += 1
        elif not counts['skipped'] and not counts['failed']:
            said = [line.strip() for line in output.splitlines() if line.strip()]
            counts['skipped'] += 1
            skips.append((case.get('name'), said[-1] if said else message))
    elif status == 'fail' and not counts['failed']:
        counts['failed'] = 1
    return counts, skips, failed


def main(path, say):
    total = {'passed': 0, 'failed': 0, 'skipped': 0}
    failures = []
    for case in sorted(ElementTree.parse(path).getroot().iter('testcase'), key=lambda c: float(c.get('time') or 0)):
        counts, skips, names = judge(case)
        failed = counts['failed'] > 0
        for kind, n in counts.items():
            total[kind] += n
        print(f"{'FAIL' if failed else 'ok  '} {float(case.get('time') or 0):7.1f} s  {case.get('name'):<28} "
              f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
        for name, reason in skips:
            print(f"       skipped {name}: {reason or 'no reason given'}")
        for name in names:  # beside the row too: where output is cut, its end is what is lost
            print(f'       FAILED {name[:400]}')
        if failed:
            failures.append(case)
        elif say:
            for line in (case.findtext('system-out') or '').splitlines():
                if line.startswith(('ok - ', '# ')):
                    print(f'       {line}')
    for case in failures:
        print(f"\n---- {case.get('name')} ----\n{(case.findtext('system-out') or 'did not start').rstrip()[-20000:]}")
    if not any(total.values()):
        print('no test matched')
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 0 if total['failed'] == 0 and any(total.values()) else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], '--say' in sys.argv[2:]))
