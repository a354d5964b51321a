// Reads a file in Terraform's language and prints it as JSON; exits 1, saying where, if it is not that.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const { parse } = createRequire(import.meta.url)('@cdktf/hcl2json');
try {
  console.log(JSON.stringify(await parse(process.argv[2], readFileSync(process.argv[2], 'utf8'))));
} catch (error) {
  console.error(String(error));
  process.exit(1);
}
