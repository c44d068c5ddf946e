"""The installed programs that tests use. If another version is installed, Bazel runs the tests again."""

def _machine_impl(ctx):
    node = ctx.which("node")
    if not node:
        fail("there is no Node.js: run deploy/install first")
    ctx.symlink("/var/lib/dpkg/status", "debian_packages")
    ctx.symlink(node, "node")
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD.bazel", """
exports_files(["debian_packages"])

filegroup(
    name = "machine",
    srcs = [
        "debian_packages",
        "node",
    ],
    visibility = ["//visibility:public"],
)
""")

machine_repository = repository_rule(
    implementation = _machine_impl,
    local = True,
    environ = ["PATH"],
)
