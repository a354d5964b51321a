#!/usr/bin/env python3
"""tidy.py [ROOT]: the rules of the house that a compiler does not see, checked over the text of the tree in under two seconds.

Prints `FILE:LINE: what is wrong` for each violation, then `ok - RULE` or `not ok - RULE` for each rule; exit status 1 if any
rule is broken. The rules are the functions below named `rule_...`; the first line of each says what it asks.
"""
import bisect
import os
import re
import sys

SKIP_FOLDERS = {'.git', 'build', 'node_modules', 'dist', '__pycache__'}
CODE = ('.h', '.cpp', '.cu', '.ts', '.tsx')
TEXT = CODE + ('.py', '.sh', '.bash', '.cmake', '.txt', '.md', '.csv', '.yaml', '.json', '.css', '.html', '.mjs', '.js', '')
LINES_MAX, LINES_MAX_TEST, COLUMNS_MAX, FUNCTION_LINES_MAX = 700, 1000, 130, 70
# Rooms whose result must be a function of their input alone: what they do is replayed.
PURE = ('base', 'model', 'ingest', 'predict', 'design', 'detect', 'decide', 'diagnose', 'account', 'ports', 'act', 'control',
        'report', 'twin')
SYSTEM = re.compile(r'^(sys|netinet|arpa|linux|net)/|^(unistd|fcntl|signal|poll|pthread|dirent|errno|spawn|termios|dlfcn|pwd|grp|'
                    r'glob|sched|string|stdio|stdlib|stdint|stddef|malloc|math|time|limits|netdb|fenv|elf|getopt|syslog)\.h$')


class File:
    """One file of the tree: `code` is the text with comments and literals blanked out, line numbers kept."""

    def __init__(self, root, path):
        self.path = path
        self.folder, self.name = os.path.split(path)
        self.parts = path.split('/')
        with open(os.path.join(root, path), encoding='utf-8', errors='replace') as f:
            self.text = f.read()
        self.lines = self.text.splitlines()
        self._code = None
        self._starts = None

    @property
    def is_cpp(self):
        return self.name.endswith(('.h', '.cpp'))

    @property
    def is_test(self):
        return self.name.endswith(('_test.cpp', '.test.ts', '.test.tsx', '.test.mjs')) or self.parts[0] == 'tests'

    @property
    def room(self):
        return self.parts[1] if self.parts[0] == 'src' and len(self.parts) > 2 else ''

    @property
    def code(self):
        if self._code is None:
            self._code = blank(self.text)
        return self._code

    def line_of(self, offset):
        if self._starts is None:
            self._starts = [0] + [m.end() for m in re.finditer('\n', self.text)]
        return bisect.bisect_right(self._starts, offset)


LITERAL = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
                     r'|(?<![0-9a-zA-Z_])\'(?:\\.|[^\'\\\n])+\'', re.S)
NOT_NEWLINE = re.compile(r'[^\n]')
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.M)


def blank(text):
    return LITERAL.sub(lambda m: NOT_NEWLINE.sub(' ', m[0]), text)


def includes(file):
    """(line, quoted path or None, angle path or None) of each include."""
    return [(file.line_of(m.start(1) if m[1] else m.start(2)), m[1], m[2]) for m in INCLUDE.finditer(file.text)]


def read_tree(root):
    files = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(d for d in folders if d not in SKIP_FOLDERS)
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if os.path.splitext(name)[1] in TEXT and not os.path.islink(os.path.join(root, path)) and not name.endswith('.swp'):
                files.append(File(root, path))
    return files


def rule_sizes(tree, _):
    """Files have at most 700 lines (tests 1000), lines of code at most 130 columns."""
    for f in tree:
        if f.name.endswith(CODE):
            limit = LINES_MAX_TEST if f.is_test else LINES_MAX
            if len(f.lines) > limit:
                yield f.path, len(f.lines), f'{len(f.lines)} lines; at most {limit}'
        if f.name.endswith(CODE + ('.py', '.bash', '.cmake')) or f.name == 'CMakeLists.txt':
            for n, line in enumerate(f.lines, 1):
                if len(line) > COLUMNS_MAX:
                    yield f.path, n, f'{len(line)} columns; at most {COLUMNS_MAX}'


BRACE = re.compile(r'[{};]')
PREPROCESSOR = re.compile(r'^[ \t]*#(?:\\\n|[^\n])*', re.M)
SCOPE = re.compile(r'\b(namespace|class|struct|union|enum|extern)\b')


def functions(file):
    """(first line, last line, heading) of each function body, told by its braces: `) ... {` in a namespace or a class."""
    code = PREPROCESSOR.sub(lambda m: NOT_NEWLINE.sub(' ', m[0]), file.code)
    depth_in_function, scopes, start, heading_from = 0, [], 0, 0
    heading = ''
    for m in BRACE.finditer(code):
        c = m[0]
        if depth_in_function:
            depth_in_function += (c == '{') - (c == '}')
            if not depth_in_function:
                yield file.line_of(start), file.line_of(m.start()), heading
                heading_from = m.end()
        elif c == '{':
            heading = ' '.join(code[heading_from:m.start()].split())
            plain = re.sub(r'\([^()]*\)', '()', heading)
            if ')' in heading and not re.search(r'(?<![=!<>+\-*/])=(?!=)', plain.split('->')[0]) and not (
                    SCOPE.match(re.sub(r'^template\s*<.*?>\s*', '', heading)) and not heading.rstrip().endswith(')')):
                depth_in_function, start = 1, m.start()
            else:
                scopes.append(m.start())
            heading_from = m.end()
        else:
            if c == '}' and scopes:
                scopes.pop()
            heading_from = m.end()


def rule_functions(tree, _):
    """Functions fit on a screen: at most 70 lines."""
    for f in tree:
        if f.is_cpp:
            for first, last, heading in functions(f):
                if last - first + 1 > FUNCTION_LINES_MAX:
                    yield f.path, first, f'{last - first + 1} lines in one function (of {FUNCTION_LINES_MAX}): {heading[-60:]}'


def read_table(root):
    """Who may include whom, from cmake/rooms.cmake."""
    with open(os.path.join(root, 'cmake/rooms.cmake'), encoding='utf-8') as f:
        return {m[1]: set(m[2].split()) | {m[1]} for m in re.finditer(r'^set\(MAY_USE_(\w+)([^)]*)\)', f.read(), re.M)}


def rule_layers(tree, root):
    """A room includes only itself and the rooms that cmake/rooms.cmake lists for it, by room path."""
    table = read_table(root)
    for f in tree:
        if f.parts[0] == 'src' and f.is_cpp:
            if f.room not in table:
                yield f.path, 1, f'src/{f.room} is not in the table of cmake/rooms.cmake'
                continue
            for line, quoted, _ in includes(f):
                if quoted and '/' not in quoted:
                    yield f.path, line, f'include by room path: "{f.room}/.../{quoted}"'
                elif quoted and quoted.split('/')[0] not in table[f.room]:
                    yield f.path, line, f'{f.room} may not include {quoted}'


def rule_names(tree, _):
    """No file or folder is called utils, common, manager, helper or the like: a name says what the thing is for."""
    banned = {'util', 'utils', 'utility', 'common', 'manager', 'helper', 'helpers', 'misc', 'impl'}
    for f in tree:
        for part in f.parts:
            if banned & set(re.split(r'[_.\-]', part.lower())):
                yield f.path, 1, f'"{part}" says nothing about what it is for'
                break


def path_matcher(pattern):
    """* does not cross a slash, ** does."""
    regex = ''.join('.*' if p == '**' else '[^/]*' if p == '*' else re.escape(p) for p in re.split(r'(\*\*|\*)', pattern))
    return re.compile(regex + r'\Z')


def rule_third_party(tree, root):
    """A third-party header is included only by the files that tools/third_party.txt names for it."""
    allowed = []
    with open(os.path.join(root, 'tools/third_party.txt'), encoding='utf-8') as f:
        for line in f:
            words = line.partition('#')[0].split()
            if words:
                allowed.append((words[0], [path_matcher(p) for p in words[1:]]))
    for f in tree:
        if not f.is_cpp:
            continue
        for line, _, angle in includes(f):
            if not angle or ('.' not in angle and '/' not in angle and angle != 'rapidcheck') or SYSTEM.search(angle):
                continue
            found = [patterns for prefix, patterns in allowed if angle.startswith(prefix)]
            if not found:
                yield f.path, line, f'<{angle}> is not listed in tools/third_party.txt'
            elif not any(p.match(f.path) for patterns in found for p in patterns):
                yield f.path, line, f'<{angle}> may not be included here; see tools/third_party.txt'


MARKS = re.compile(r'\b(TO' + r'DO|FIX' + r'ME|XX' + r'X|HA' + r'CK)\b')
UNFINISHED = re.compile(r'\b(not ' + r'implemented|st' + r'ub)\b')


def rule_marks(tree, _):
    """Nothing unfinished is left behind with a mark on it."""
    for f in tree:
        product = f.parts[0] in ('src', 'cmd', 'web', 'plugins')
        if f.name.endswith(CODE + ('.py', '.bash', '.cmake', '.txt')) or product:
            for n, line in enumerate(f.lines, 1):
                mark = MARKS.search(line) or (product and UNFINISHED.search(line))
                if mark and 'lock' not in f.name:
                    yield f.path, n, f'unfinished: {mark[0]}'


BANNED_IN_PURE = [
    (re.compile(r'\b(system_clock|steady_clock|high_resolution_clock|gettimeofday|clock_gettime|std::time\b|localtime|gmtime)'),
     'reads a clock; time comes in with the turn'),
    (re.compile(r'(?<![\w.:>])time\s*\(\s*(nullptr|NULL|0|&\w+)\s*\)'), 'reads a clock; time comes in with the turn'),
    (re.compile(r'\b(random_device|mt19937\w*|default_random_engine|\w+_distribution|std::rand|srand)\b'),
     'only base/prng.h makes random numbers'),
    (re.compile(r'\bstd::(thread|jthread|mutex|shared_mutex|condition_variable|async)\b'), 'no threads here'),
    (re.compile(r'\bstd::(getenv|system|[io]?fstream|filesystem)\b|(?<![\w.:>])getenv\s*\('), 'no input or output here'),
]
LIBM = re.compile(r'\bstd::(log|log2|log10|log1p|exp|exp2|expm1|pow|sin|cos|tan|sinh|cosh|tanh|cbrt|hypot|erf|lgamma)\s*\(')
SIMULATED = re.compile(r'\bis_?simulated\b', re.I)


def rule_pure(tree, _):
    """The pure rooms read no clock, make no random numbers of their own, use no threads and do no I/O."""
    for f in tree:
        if f.is_cpp and f.room in PURE and not f.is_test:
            for pattern, why in BANNED_IN_PURE:
                for m in pattern.finditer(f.code):
                    yield f.path, f.line_of(m.start()), f'{m[0].strip()}: {why}'


def rule_same_on_every_cpu(tree, _):
    """What enters history uses base/math.h: the last bit of libm differs between machines."""
    for f in tree:
        if f.is_cpp and f.room in PURE and f.room != 'report' and not f.is_test and f.path != 'src/base/math.cpp':
            for m in LIBM.finditer(f.code):
                yield f.path, f.line_of(m.start()), f'{m[0]}...): use base/math.h'


DRAW = re.compile(r'(?:\.|->)(?:unit|below|chance|exponential|normal|lognormal)\s*\(')
CONDITION = re.compile(r'\b(?:if|while|switch)\s*\(')


def without_condition(statement):
    """What follows the parentheses of a leading `if (...)`: it is evaluated later, so it is another statement."""
    m = CONDITION.search(statement)
    if not m:
        return [statement]
    depth, at = 1, m.end()
    while at < len(statement) and depth:
        depth += {'(': 1, ')': -1}.get(statement[at], 0)
        at += 1
    return [statement[:at], statement[at:]]


def rule_draws(tree, _):
    """One random draw a statement: compilers differ in the order in which they evaluate arguments and operands."""
    for f in tree:
        if f.is_cpp and f.room in PURE and not f.is_test and DRAW.search(f.code):
            at = 0
            for text in re.split(r'([;{}])', f.code):
                for part in without_condition(text):
                    if len(DRAW.findall(part)) > 1 and not re.search(r'&&|\|\||\?', part):
                        where = at + text.index(part) + DRAW.search(part).start()
                        yield f.path, f.line_of(where), 'two random draws in one statement'
                at += len(text)


def rule_one_code_path(tree, _):
    """No code asks whether it is being simulated."""
    for f in tree:
        if f.name.endswith(CODE) and f.parts[0] in ('src', 'cmd', 'web', 'plugins'):
            for m in SIMULATED.finditer(f.code):
                yield f.path, f.line_of(m.start()), f'{m[0]}: the controller must not know'


UNORDERED = re.compile(r'\bunordered_(?:multi)?(?:map|set)\s*<')


def unordered_names(file):
    """Names of variables and members declared with an unordered container."""
    for m in UNORDERED.finditer(file.code):
        depth, at = 1, m.end()
        while at < len(file.code) and depth:
            depth += {'<': 1, '>': -1}.get(file.code[at], 0)
            at += 1
        name = re.match(r'[\s&*]*(\w+)\s*(?:[;={,)(]|$)', file.code[at:at + 80])
        if name and name[1] != 'const':
            yield name[1]


def rule_order(tree, _):
    """The pure rooms do not iterate over unordered containers: the order would differ between runs and libraries."""
    by_path = {f.path: f for f in tree}
    for f in tree:
        if not (f.is_cpp and f.room in PURE) or f.is_test:
            continue
        seen = [f] + [by_path['src/' + q] for _, q, _ in includes(f) if q and 'src/' + q in by_path and q.split('/')[0] == f.room]
        names = {n for s in seen for n in unordered_names(s)}
        if not names:
            continue
        any_name = '|'.join(map(re.escape, sorted(names)))
        loop = re.compile(rf'for\s*\([^;{{}}]*:\s*(?:[\w\[\]]+(?:\.|->))*({any_name})\s*\)|\b({any_name})(?:\.|->)c?begin\s*\(')
        for m in loop.finditer(f.code):
            yield f.path, f.line_of(m.start()), f'iterates over the unordered container {m[1] or m[2]}'


def rule_dead_files(tree, _):
    """Every header is included, every script, data file and page is mentioned elsewhere, no placeholder outlives its use."""
    included = {q for f in tree if f.is_cpp for _, q, _ in includes(f) if q}
    included |= {f'{f.folder}/{q}' for f in tree if f.is_cpp for _, q, _ in includes(f) if q}
    rooms_with_code = {f.room for f in tree if f.name.endswith('.cpp') and f.name != 'placeholder.cpp' and not f.is_test}
    texts = [(f.path, f.text) for f in tree]
    for f in tree:
        if f.name.endswith('.h') and f.parts[0] in ('src', 'cmd', 'tests') and f.path not in included:
            short = f.path[4:] if f.parts[0] == 'src' else f.name
            if short not in included and f.name not in included:
                yield f.path, 1, 'no file includes this header'
        elif f.name == 'placeholder.cpp' and f.room in rooms_with_code:
            yield f.path, 1, 'the room has real files; remove its placeholder'
        elif mentionable(f):
            stem = f.name.rsplit('.', 1)[0] if f.parts[0] == 'data' or f.name.endswith(('.ts', '.tsx', '.py')) else f.name
            word = re.compile(r'(?<![\w\-])' + re.escape(stem) + r'(?![\w\-])')
            if not any(path != f.path and stem in text and word.search(text) for path, text in texts):
                yield f.path, 1, 'no other file mentions this one'


def mentionable(f):
    if f.name == 'README.md' or f.name.endswith('.d.ts') or f.is_test and f.name.endswith(('.ts', '.tsx')):
        return False
    return f.parts[0] in ('tools', 'data', 'docs') or f.path.startswith('web/src/') or (
        f.parts[0] == 'tests' and f.name.endswith(('.py', '.sh')))


def rule_readme(tree, _):
    """Each room, each adapter and each top folder has a README.md that says in a paragraph what it is for."""
    have = {f.folder: f for f in tree if f.name == 'README.md'}
    wanted = {'/'.join(f.parts[:2]) for f in tree if f.parts[0] in ('src', 'cmd', 'plugins') and len(f.parts) > 2}
    wanted |= {'/'.join(f.parts[:3]) for f in tree if f.path.startswith('src/adapters/') and len(f.parts) > 3}
    wanted |= {f.parts[0] for f in tree if f.parts[0] in ('data', 'docs', 'tests', 'web', 'tools') and len(f.parts) > 1}
    for folder in sorted(wanted):
        if folder not in have:
            yield f'{folder}/README.md', 1, 'missing'
        elif len(have[folder].text.split()) < 8:
            yield have[folder].path, 1, 'says too little to tell what the folder is for'


MACHINE_PATH = re.compile(r'(?<![\w.~}])/(w' + r'ork|ro' + r'ot|ho' + r'me/[a-z]+)/')


def rule_machine_paths(tree, _):
    """No path of the machine it was written on."""
    for f in tree:
        for n, line in enumerate(f.lines, 1):
            m = MACHINE_PATH.search(line)
            if m and 'lock' not in f.name:
                yield f.path, n, f'path of one machine: {m[0]}'


def check(root):
    """[(rule's sentence, [(path, line, message)...])]"""
    tree = read_tree(root)
    rules = [(name, rule) for name, rule in globals().items() if name.startswith('rule_')]
    return [(name, rule.__doc__, list(rule(tree, root))) for name, rule in rules]


def main(root):
    broken = 0
    for _, sentence, violations in check(root):
        for path, line, message in violations:
            print(f'{path}:{line}: {message}')
        broken += bool(violations)
        print(f"{'not ok' if violations else 'ok'} - {sentence}")
    return 1 if broken else 0


if __name__ == '__main__':
    sys.exit(main(os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)) + '/../..'))
