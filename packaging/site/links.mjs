// Checks a built site: every link and picture leads to a file of it, and every fragment to an id on its page.
//
//     node packaging/site/links.mjs OUT
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, extname, join, relative, resolve } from "node:path";

const out = process.argv[2];
if (!out) {
    console.error("usage: node packaging/site/links.mjs OUT");
    process.exit(2);
}

/** Returns all files below a folder. */
function files(folder) {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
        const path = join(folder, entry.name);
        return entry.isDirectory() ? files(path) : [path];
    });
}

const decoded = (text) =>
    decodeURIComponent(text.replace(/&amp;/g, "&").replace(/&quot;/g, '"').replace(/&#x27;|&#39;/g, "'"));
const ids = new Map();

/** Returns the ids of a page. */
function idsOf(page) {
    if (!ids.has(page)) {
        const found = readFileSync(page, "utf8").matchAll(/\s(?:id|name)="([^"]*)"/g);
        ids.set(page, new Set([...found].map(([, id]) => decoded(id))));
    }
    return ids.get(page);
}

const pages = files(out).filter((path) => extname(path) === ".html");
let links = 0;
const broken = [];
for (const page of pages) {
    // Scripts build addresses of their own.
    const text = readFileSync(page, "utf8").replace(/<script[\s\S]*?<\/script>/g, "");
    for (const [, target] of text.matchAll(/<[a-z][^<>]*?\s(?:href|src)="([^"]*)"/g)) {
        if (/^(?:[a-z][a-z+.-]*:|\/\/)/i.test(target)) {
            continue;
        }
        links += 1;
        const [place, name] = decoded(target).split("#");
        // A fragment such as t=4200 is the moment that a proof page shows, and no id.
        const fragment = name?.includes("=") ? "" : name;
        let file = place ? resolve(dirname(page), place) : resolve(page);
        if (existsSync(file) && statSync(file).isDirectory()) {
            file = join(file, "index.html");
        }
        if (!existsSync(file)) {
            broken.push(`${relative(out, page)}: ${target} leads to no file`);
        } else if (fragment && extname(file) === ".html" && !idsOf(file).has(fragment)) {
            broken.push(`${relative(out, page)}: ${target} leads to no id`);
        }
    }
}
if (pages.length === 0 || links === 0) {
    broken.push(`${out} has no page with a link`);
}
for (const line of broken) {
    console.error(line);
}
console.log(`${pages.length} pages, ${links} links, ${broken.length} broken`);
process.exit(broken.length === 0 ? 0 : 1);
