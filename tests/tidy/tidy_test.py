#!/usr/bin/env python3
"""Plants one violation of each rule of tidy.py in a small clean tree, and expects that rule, and no other, to report it."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import tidy  # noqa: E402

LONG_BODY = ''.join(f'  x += {i};\n' for i in range(70))
README = '# Room\nA paragraph that says in a few words what this folder is for.\n'
CLEAN = {
    'cmake/rooms.cmake': 'set(MAY_USE_base)\nset(MAY_USE_model base)\n'
                         'set(MAY_USE_ingest model base)\nset(MAY_USE_twin model base)\n',
    'tools/third_party.txt': 'fmt/ src/**.cpp\nyaml-cpp/ src/ingest/yaml.cpp\n',
    'tools/README.md': README + 'third_party.txt\n',
    'src/base/README.md': README,
    'src/base/text.h': '// Text.\n#pragma once\n#include <string>\n',
    'src/base/text.cpp': '#include "base/text.h"\n#include <fmt/core.h>\n// A clock such as system_clock is only named here.\n'
                         'const char* kText = "} std::random_device {";\nstatic const int kTable[] = {\n'
                         + '  1,\n' * 80 + '};\nint text() { return R"(unbalanced { )"[0]; }\n',
    'src/model/README.md': README,
    'src/model/job.cpp': '#include <unordered_map>\n#include "base/text.h"\nnamespace m {\n'
                         'int look(const std::unordered_map<int, int>& seen, int k) { return seen.at(k); }\n}\n',
    'src/ingest/README.md': README,
    'src/ingest/yaml.cpp': '#include <yaml-cpp/yaml.h>\n#include "base/text.h"\n',
    'src/twin/README.md': README,
    'src/twin/twin.cpp': '#include "base/text.h"\nvoid f() { if (prng.chance(0.5)) g(prng.unit()); }\n',
}
# rule, file, text added to it (or the whole file when it is new), part of the message
PLANTED = [
    ('rule_sizes', 'src/base/text.cpp', '// long\n' * 701, 'lines; at most 700'),
    ('rule_sizes', 'src/base/text.cpp', '// ' + 'x' * 128 + '\n', '131 columns'),
    ('rule_functions', 'src/model/job.cpp', 'int f(int x) {\n' + LONG_BODY + '}\n', '72 lines in one function'),
    ('rule_functions', 'src/model/job.cpp', 'namespace a { struct S {\n'
     'int f(int x) const {\n' + LONG_BODY + '}\n}; }\n', 'one function'),
    ('rule_functions', 'src/model/job.cpp', 'S::S(int x) : a_(x), b_(1) {\n' + LONG_BODY + '}\n', 'one function'),
    ('rule_functions', 'src/model/job.cpp', 'template <class T>\nstruct R g(T x) {\n' + LONG_BODY + '}\n', 'one function'),
    ('rule_layers', 'src/model/job.cpp', '#include "ingest/yaml.h"\n', 'model may not include ingest/yaml.h'),
    ('rule_layers', 'src/model/job.cpp', '#include "job.h"\n', 'include by room path'),
    ('rule_layers', 'src/model/job.cpp', '#include "../ingest/yaml.h"\n', 'model may not include ../ingest/yaml.h'),
    ('rule_layers', 'src/cellar/README.md', README, None),
    ('rule_layers', 'src/base/text.cpp', '#include "model/job.h"\n', 'base may not include model/job.h'),
    ('rule_names', 'src/model/job_utils.cpp', '', 'says nothing'),
    ('rule_names', 'src/base/common/text_width.cpp', '', 'says nothing'),
    ('rule_names', 'src/model/node_manager.cpp', '', 'says nothing'),
    ('rule_third_party', 'src/model/job.cpp', '#include <yaml-cpp/yaml.h>\n', 'may not be included here'),
    ('rule_third_party', 'src/base/text.h', '#include <fmt/core.h>\n', 'may not be included here'),
    ('rule_third_party', 'src/model/job.cpp', '#include <boost/asio.hpp>\n', 'not listed'),
    ('rule_marks', 'src/model/job.cpp', '// TO' 'DO: finish\n', 'unfinished'),
    ('rule_marks', 'src/model/job.cpp', '// a st' 'ub\n', 'unfinished'),
    ('rule_pure', 'src/twin/twin.cpp', 'auto t = std::chrono::system_clock::now();\n', 'reads a clock'),
    ('rule_pure', 'src/model/job.cpp', 'auto t = time(nullptr);\n', 'reads a clock'),
    ('rule_pure', 'src/twin/twin.cpp', 'std::random_device d;\n', 'random numbers'),
    ('rule_pure', 'src/twin/twin.cpp', 'std::normal_distribution<double> d;\n', 'random numbers'),
    ('rule_pure', 'src/model/job.cpp', 'std::mutex m;\n', 'no threads'),
    ('rule_pure', 'src/ingest/yaml.cpp', 'std::ifstream in;\n', 'no input or output'),
    ('rule_same_on_every_cpu', 'src/twin/twin.cpp', 'double l = std::log(2.0);\n', 'base/math.h'),
    ('rule_draws', 'src/twin/twin.cpp', 'auto x = f(prng.unit(),\n  prng.below(3));\n', 'two random draws'),
    ('rule_one_code_path', 'src/model/job.cpp', 'if (site.is_simulated()) return;\n', 'must not know'),
    ('rule_order', 'src/model/job.cpp', 'void h(std::unordered_set<int> all) { for (int i : all) f(i); }\n', 'container all'),
    ('rule_order', 'src/model/job.cpp', 'std::unordered_map<int, std::set<int>> jobs_;\nauto a = jobs_.begin();\n', 'jobs_'),
    ('rule_dead_files', 'src/model/orphan.h', '// Nobody includes this.\n#pragma once\n', 'no file includes'),
    ('rule_dead_files', 'tools/orphan.txt', 'x\n', 'no other file mentions'),
    ('rule_dead_files', 'src/model/placeholder.cpp', '', 'remove its placeholder'),
    ('rule_readme', 'src/model/README.md', None, 'missing'),
    ('rule_readme', 'data/rates.csv', 'a,b\n', None),
    ('rule_machine_paths', 'src/model/job.cpp', '// see /ro' 'ot/notes\n', 'path of one machine'),
]


def broken_rules(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as f:
                f.write(text)
        return {name: violations for name, _, violations in tidy.check(root) if violations}


def planted(path, text):
    files = dict(CLEAN)
    if text is None:
        del files[path]
    elif path in files:
        files[path] += text
    else:
        files[path] = text
    if path.startswith('src/cellar/'):
        files['src/cellar/wine.cpp'] = ''
    if path.startswith('data/'):
        files['tools/README.md'] += 'rates\n'
    return files


def main():
    failed = 0

    def expect(sentence, good, detail):
        nonlocal failed
        failed += not good
        print(f"{'ok' if good else 'not ok'} - {sentence}" + ('' if good else f': {detail}'))

    found = broken_rules(CLEAN)
    expect('a clean tree breaks no rule', not found, found)
    for rule, path, text, message in PLANTED:
        found = broken_rules(planted(path, text))
        said = ' '.join(m for _, _, m in found.get(rule, []))
        expect(f'{rule[5:]} catches {message or path}', set(found) == {rule} and (message or '') in said, found)
    missing = {name for name in vars(tidy) if name.startswith('rule_')} - {rule for rule, *_ in PLANTED}
    expect('every rule has a planted violation', not missing, missing)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
