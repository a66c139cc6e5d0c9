#!/usr/bin/env bash
# Makes plot.min.js, plot.css and plot.LICENSE.txt beside this script from the packages as their authors publish them.
# Needs npm and node; nothing of this is needed to install or to use pytest-audiobench.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"

# Every package that ends up in the bundle is named with its exact version, so that two builds are byte-equal.
packages=(
    @observablehq/plot@0.6.17
    d3-array@3.2.5 d3-axis@3.0.1 d3-color@3.1.1 d3-format@3.1.3 d3-geo@3.1.2 d3-interpolate@3.0.2 d3-path@3.1.1
    d3-scale@4.0.3 d3-scale-chromatic@3.1.1 d3-selection@3.0.1 d3-shape@3.2.1 d3-time@3.1.1 d3-time-format@4.1.1
    isoformat@0.2.1
)
# What the page draws with; the bundler leaves out what none of these needs.
marks="axisX, axisY, dot, gridX, link, plot, ruleX, text"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --no-package-lock --ignore-scripts --prefix . "${packages[@]}" esbuild@0.28.2
echo "export { $marks } from \"@observablehq/plot\";" > entry.js
node_modules/.bin/esbuild entry.js --bundle --minify --format=iife --global-name=Plot --target=es2020 --charset=ascii \
    --legal-comments=none --metafile=meta.json --outfile=bundle.js --log-level=warning

node - "$here" "${packages[@]}" <<'EOF'
const { readFileSync, writeFileSync, existsSync } = require("node:fs");
const [here, ...wanted] = process.argv.slice(2);
const read = (path) => readFileSync(path, "utf8");

const inputs = Object.values(JSON.parse(read("meta.json")).outputs)[0].inputs;
const used = Object.entries(inputs).filter(([, one]) => one.bytesInOutput)
  .map(([path]) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]).filter(Boolean);
const texts = new Map();
for (const name of [...new Set(used)].sort()) {
  const version = JSON.parse(read(`node_modules/${name}/package.json`)).version;
  if (!wanted.includes(`${name}@${version}`)) throw new Error(`${name} ${version} is in the bundle and not in the list`);
  const text = read(`node_modules/${name}/LICENSE`).trim();
  texts.set(text, [...(texts.get(text) || []), `${name} ${version}`]);
}
const licences = [...texts].map(([text, names]) => `${names.join(", ")}\n\n${text}\n`).join("\n---\n\n");
if (licences.includes("*/")) throw new Error("a licence's text would end the comment that holds it");
writeFileSync(`${here}/plot.LICENSE.txt`, licences);

// The page travels without this folder, so the notices are in the script too.
const bundle = `/*\n${licences}*/\n${read("bundle.js").trim()}\n`;
if (/<\/?script|<!--/i.test(bundle)) throw new Error("the bundle would end the script element that holds it");
writeFileSync(`${here}/plot.min.js`, bundle);

// The one style element that the library puts into a drawing: a page must allow it by its digest.
const source = read("node_modules/@observablehq/plot/src/plot.js");
const style = /append\("style"\)\.text\(\s*`([^`]*)`/.exec(source)[1];
const name = /return "(plot-[0-9a-f]+)"|"(plot-[0-9a-f]{6})"/.exec(source + read("node_modules/@observablehq/plot/src/context.js")
  + read("node_modules/@observablehq/plot/src/style.js"));
writeFileSync(`${here}/plot.css`, style.replaceAll("${className}", name[1] || name[2]));
EOF
