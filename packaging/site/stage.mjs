// Lays out the pages of the book: those that docs/SUMMARY.md names, and the pictures and schemas that they link to, in
// folders as in the repository. A link to any other file becomes a link to the repository, if Cargo.toml names one, and
// its text otherwise.
//
//     node packaging/site/stage.mjs STAGE [PROOF]
//
// PROOF is a folder that `clitape proof` wrote; it becomes the page of sample proofs.
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const [stage, proof] = process.argv.slice(2);
if (!stage) {
    console.error("usage: node packaging/site/stage.mjs STAGE [PROOF]");
    process.exit(2);
}
const source = join(stage, "src");
const samples = "samples/README.md";

/** Files that a page may show or offer as they are. */
const isCopied = (path) => /\.(png|svg|json|cast)$/.test(path);
/** The text of a Markdown link: anything but brackets, or code, or one pair of brackets. */
const link = /(!?)\[((?:[^[\]`]|`[^`]*`|\[[^[\]]*\])*)\]\(([^()\s]+)\)/g;

/** Returns the repository's address that Cargo.toml has, if any. */
function repository() {
    const found = /^repository = "([^"]+)"/m.exec(readFileSync(join(root, "Cargo.toml"), "utf8"));
    return found?.[1].replace(/\/$/, "");
}

/** Applies `change` to the parts of a page outside of fenced and indented blocks. */
function outsideOfBlocks(text, change) {
    const parts = text.split(/(^```[^\n]*\n[\s\S]*?^```[^\n]*$|(?<=\n\n)(?: {4}[^\n]*\n)+)/m);
    return parts.map((part, i) => (i % 2 === 0 ? change(part) : part)).join("");
}

/** Returns the place of a page in the book: a README is the index of its folder. */
const placed = (path) => path.replace(/README\.md$/, "index.md");

/** Returns the page with each link as the book needs it; adds the files that it shows to `assets`. */
function rewritten(path, text, pages, assets) {
    const folder = dirname(path);
    const one = (whole, image, label, target) => {
        if (/^[a-z]+:/.test(target) || target.startsWith("#")) {
            return whole;
        }
        const [file, anchor] = target.split("#");
        const to = normalize(join(folder, file));
        const shown = relative(dirname(placed(path)), placed(to)) || ".";
        if (pages.has(to)) {
            // The name of a file says less than the title of its page.
            const title = /^[\w./-]+\.md$/.test(label) ? pages.get(to) : label;
            return `${image}[${title}](${shown}${anchor ? `#${anchor}` : ""})`;
        }
        if (isCopied(to) && existsSync(join(root, to))) {
            assets.add(to);
            return `${image}[${label}](${shown})`;
        }
        if (existsSync(join(source, to))) {
            return whole;
        }
        const address = repository();
        return address && !to.startsWith("..") ? `[${label}](${address}/blob/main/${to})` : label;
    };
    return outsideOfBlocks(text, (part) => part.replace(link, one));
}

/** Writes a file below the book's source folder. */
function write(path, text) {
    const target = join(source, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
}

if (proof) {
    // The files of the proof are there before a page links to them.
    const folder = join(source, dirname(samples));
    cpSync(proof, join(folder, "proof"), { recursive: true });
    // A page of Markdown would become a page of the book.
    renameSync(join(folder, "proof", "proof.md"), join(folder, "proof", "proof.txt"));
}

let summary = readFileSync(join(root, "docs/SUMMARY.md"), "utf8");
if (proof) {
    // The samples come below the page about proofs.
    summary = summary.replace(/^(\s*)(- \[[^\]]*\]\(proof\.md\))$/m, `$1$2\n$1  - [Sample proofs](../${samples})`);
}
const pages = new Map();
summary = summary.replace(link, (_, image, title, target) => {
    const path = normalize(join("docs", target));
    pages.set(path, title);
    return `[${title}](${placed(path)})`;
});
write("SUMMARY.md", summary);

const assets = new Set();
for (const path of pages.keys()) {
    const file = path === samples ? "packaging/site/samples.md" : path;
    write(placed(path), rewritten(path, readFileSync(join(root, file), "utf8"), pages, assets));
}
for (const path of assets) {
    mkdirSync(dirname(join(source, path)), { recursive: true });
    copyFileSync(join(root, path), join(source, path));
}
const address = repository();
const settings = readFileSync(join(root, "packaging/site/book.toml"), "utf8");
const more = address ? `git-repository-url = "${address}"\n` : "";
writeFileSync(join(stage, "book.toml"), settings.replace("[output.html]\n", `[output.html]\n${more}`));
copyFileSync(join(root, "packaging/site/site.css"), join(stage, "site.css"));
