use std::os::unix::fs::{PermissionsExt as _, symlink};

use clitape_gateway::ByteSize;
use clitape_process::Scratch;
use clitape_process::host::HostPaths;
use clitape_recording::limits::OutputLimits;
use fs_err as fs;

use crate::subject::packages::*;

/// Makes a program in `root` with this text.
fn put(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text.replace("ROOT", &root.to_string_lossy())).unwrap();
    fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Makes a tree with Pythons that print `python-packages` of their own folder, projects of Node, and programs that
/// use them.
fn tree() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for python in ["bin/python3", "venv-a/bin/python3", "app/.venv/bin/python", "shims/python"] {
        let folder = root.join(python).parent().unwrap().with_file_name("packages");
        fs::create_dir_all(&folder).unwrap();
        let shown = folder.to_string_lossy().into_owned();
        put(&root, python, &format!("#!/bin/sh\necho noise\necho '[\"{shown}\", \"/none\"]'\n"));
    }
    put(&root, "broken/python3", "#!/bin/sh\nexit 3\n");
    put(&root, "venv-a/bin/bot", "#!ROOT/venv-a/bin/python3\n");
    put(&root, "venv-a/bin/long", "#!/bin/sh\n'''exec' ROOT/venv-a/bin/python3 \"$0\"\n");
    put(&root, "bin/env-bot", "#!/usr/bin/env -S python3 -u\n");
    put(&root, "shims/shim-bot", "#!/usr/bin/env sh\nexec pyenv exec \"$0\"\n");
    put(&root, "bin/native", "\u{7f}ELF");
    put(
        &root,
        "start.sh",
        "#!/bin/sh\n# one\nexport A=1\nexec node ROOT/other/bot/main.js \"$@\"\n",
    );
    put(&root, "loop.sh", "#!/bin/bash\ncd ROOT/app/packages/bot && exec ROOT/loop.sh\n");
    put(&root, "other/bot/main.js", "");
    put(&root, "other/start", "#!/bin/sh\nexec \"$(dirname \"$0\")/inner.sh\"\n");
    put(&root, "other/inner.sh", "#!/bin/sh\nexec node \"$(dirname \"$0\")/bot/main.js\"\n");
    for folder in [
        "app/node_modules",
        "app/packages/bot/node_modules",
        "lib/node_modules/gw/node_modules",
        "more/node_modules",
        "other/bot/node_modules",
    ] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    put(&root, "bin/node", "#!/bin/sh\n");
    put(&root, "app/packages/bot/main.js", "");
    put(&root, "lib/node_modules/gw/cli.js", "#!/usr/bin/env node\n");
    symlink(root.join("lib/node_modules/gw/cli.js"), root.join("bin/gw")).unwrap();
    for name in ["bot", "long"] {
        let link = root.join(format!("bin/linked-{name}"));
        symlink(root.join("venv-a/bin").join(name), link).unwrap();
    }
    (dir, root)
}

/// Returns the folders of a command that starts in `app`, relative to the tree.
fn folders(root: &Path, command: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
    let scratch = Scratch::for_program(&HostPaths {
        path: OsString::new(),
        temporary: root.to_owned(),
        home: None,
    });
    let path = format!("{}:/usr/bin:/bin", root.join("bin").display());
    let fill = |text: &str| OsString::from(text.replace("ROOT", &root.to_string_lossy()));
    let command: Vec<_> = command.iter().copied().map(fill).collect();
    let variables = variables.iter().map(|(name, value)| ((*name).into(), fill(value)));
    let environment: Vec<_> =
        std::iter::once(("PATH".into(), path.into())).chain(variables).collect();
    let start = ProgramStart {
        command: &command,
        environment: &environment,
        folder: &root.join("app"),
        scratch: scratch.as_ref().unwrap(),
        with_stdin: false,
        reader: OutputReader::LastPart,
        output: OutputLimits::within(ByteSize::mib(1)),
        memory: ByteSize::mib(256),
        isolation: None,
    };
    let found = Packages::of(start, &AtomicBool::new(false)).unwrap();
    let all = found.python.iter().chain(&found.node);
    // Filters the folders of the tree, because the temporary folder may itself be below a `node_modules`.
    let own = all.filter_map(|folder| folder.strip_prefix(root).ok());
    own.map(|folder| folder.display().to_string()).collect()
}

#[test]
fn folders_follow_from_the_command() {
    let (_dir, root) = tree();
    for (command, variables, expect) in [
        (&["python3", "bot.py"][..], &[][..], &["packages"][..]),
        (&["ROOT/venv-a/bin/python3", "-m", "bot"], &[], &["venv-a/packages"]),
        (&["ROOT/venv-a/bin/bot"], &[], &["venv-a/packages"]),
        (&["../venv-a/bin/bot"], &[], &["venv-a/packages"]),
        (&["linked-bot"], &[], &["venv-a/packages"]),
        (&["env-bot"], &[], &["packages"]),
        (&["ROOT/shims/shim-bot"], &[], &["packages", "app/.venv/packages", "app/node_modules"]),
        (
            &["linked-long"],
            &[],
            &["packages", "venv-a/packages", "app/.venv/packages", "app/node_modules"],
        ),
        (&["ROOT/broken/python3", "bot.py"], &[], &[]),
        (&["none"], &[], &[]),
        (
            &["native", "--flag"],
            &[("VIRTUAL_ENV", "ROOT/venv-a")],
            &["app/.venv/packages", "venv-a/packages", "app/node_modules"],
        ),
        (
            &["env", "A=1", "python3", "bot.py"],
            &[],
            &["packages", "app/.venv/packages", "app/node_modules"],
        ),
        (
            &["node", "--no-warnings", "packages/bot/main.js"],
            &[("NODE_PATH", "ROOT/more/node_modules:/none")],
            &["app/packages/bot/node_modules", "app/node_modules", "more/node_modules"],
        ),
        (
            &["sh", "-c", "exec node 'ROOT/other/bot/main.js'"],
            &[],
            &["app/.venv/packages", "other/bot/node_modules", "app/node_modules"],
        ),
        (
            &["ROOT/start.sh"],
            &[],
            &["app/.venv/packages", "other/bot/node_modules", "app/node_modules"],
        ),
        (
            &["ROOT/other/start"],
            &[],
            &["app/.venv/packages", "app/node_modules", "other/bot/node_modules"],
        ),
        (
            &["sh", "-c", "cd ROOT/other && cd bot && npm start"],
            &[],
            &["app/.venv/packages", "app/node_modules", "other/bot/node_modules"],
        ),
        (
            &["ROOT/loop.sh"],
            &[],
            &["app/.venv/packages", "app/packages/bot/node_modules", "app/node_modules"],
        ),
        (
            &["gw", "start", "--prefix=ROOT/other/bot"],
            &[],
            &[
                "lib/node_modules/gw/node_modules",
                "lib/node_modules",
                "app/node_modules",
                "other/bot/node_modules",
            ],
        ),
        (
            &["gw", "start"],
            &[],
            &["lib/node_modules/gw/node_modules", "lib/node_modules", "app/node_modules"],
        ),
    ] {
        assert_eq!(folders(&root, command, variables), expect, "{command:?}");
    }
}
