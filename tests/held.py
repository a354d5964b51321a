"""What every test script says: which sentences held, and, by its exit code, whether all did."""
import sys

failures = 0


def check(held, sentence, detail=''):
    global failures
    print(('ok - ' if held else 'not ok - ') + sentence, flush=True)
    if not held:
        failures += 1
        if detail != '':
            print('    ' + str(detail)[:3000].replace('\n', '\n    '), flush=True)
    return held


def finish():
    sys.exit(1 if failures else 0)
