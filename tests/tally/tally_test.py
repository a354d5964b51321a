#!/usr/bin/env python3
"""tally.py counts what each kind of test program prints, and never takes a crash, or a program that is not there, for a pass."""
import os
import sys
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tally  # noqa: E402

GTEST = '''[==========] Running 3 tests from 1 test suite.
[ RUN      ] A.b
[       OK ] A.b (0 ms)
[ RUN      ] A.c
a_test.cpp:7: Skipped
needs MUSTER_DATA

[  SKIPPED ] A.c (0 ms)
[ RUN      ] A.d
[  FAILED  ] A.d (12 ms)
[==========] 3 tests from 1 test suite ran. (12 ms total)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] A.c
[  FAILED  ] 1 test, listed below:
[  FAILED  ] A.d
'''
NODE_TAP = ('TAP version 13\nok 1 - a\nok 2 - b\nok 3 - c # SKIP no browser\n1..3\n'
            '# tests 3\n# pass 2\n# fail 0\n# cancelled 0\n# skipped 1\n# todo 0\n')
NODE_SPEC = '\u2714 a (1ms)\n\u2139 tests 1\n\u2139 pass 1\n\u2139 fail 0\n\u2139 cancelled 0\n\u2139 skipped 0\n\u2139 todo 0\n'
SCRIPT = 'ok - one\nnot ok - two\nskip - three: no qemu here\nok - four\nokay, nothing\n'
CASES = [  # sentence, status, message of <skipped>, output, (passed, failed, skipped), reasons
    ('GoogleTest cases', 'fail', None, GTEST, (1, 1, 1), ['needs MUSTER_DATA']),
    ('node --test, TAP', 'run', None, NODE_TAP, (2, 0, 1), ['no browser']),
    ('node --test, spec', 'run', None, NODE_SPEC, (1, 0, 0), []),
    ('checks of a script', 'fail', None, SCRIPT, (2, 1, 1), ['no qemu here']),
    ('a silent success', 'run', None, '', (1, 0, 0), []),
    ('a crash after a passed check', 'fail', None, 'ok - one\n', (1, 1, 0), []),
    ('a program skipped as a whole', 'notrun', 'SKIP_RETURN_CODE=77', 'skip - x: no compiler\n', (0, 0, 1), ['no compiler']),
    ('a skip without the line', 'notrun', 'SKIP_RETURN_CODE=77', 'there is no compiler\n', (0, 0, 1), ['there is no compiler']),
    ('a program that does not exist', 'notrun', 'Unable to find executable', '', (0, 1, 0), []),
]


def main():
    failed = 0
    for sentence, status, message, output, expected, reasons in CASES:
        case = ElementTree.Element('testcase', name='x', status=status, time='1')
        if message:
            ElementTree.SubElement(case, 'skipped', message=message)
        ElementTree.SubElement(case, 'system-out').text = output
        counts, skips, names = tally.judge(case)
        good = tuple(counts.values()) == expected and [reason for _, reason in skips] == reasons
        good = good and names == {GTEST: ['A.d'], SCRIPT: ['two']}.get(output, [])
        failed += not good
        print(f"{'ok' if good else 'not ok'} - counts {sentence}" + ('' if good else f': {counts} {skips} {names}'))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
