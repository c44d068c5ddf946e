"""google/rpc/*.proto, from the npm package that deploy/install installs outside the tree."""

def _googleapis_impl(ctx):
    cache = ctx.os.environ["HOME"] + "/.cache/stampgate"
    source = ctx.path(cache + "/tools/node_modules/google-proto-files/google/rpc")
    if not source.exists:
        fail("google/rpc/*.proto is not installed under %s: run deploy/install first" % cache)
    for name in ["code", "error_details", "status"]:
        ctx.symlink(source.get_child(name + ".proto"), "google/rpc/%s.proto" % name)
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD.bazel", """
load("@stampgate//third_party:proto.bzl", "cc_protos")

cc_protos(
    name = "rpc",
    srcs = [
        "google/rpc/code.proto",
        "google/rpc/error_details.proto",
        "google/rpc/status.proto",
    ],
    root = "external/googleapis",
    visibility = ["//visibility:public"],
)
""")

googleapis_repository = repository_rule(
    implementation = _googleapis_impl,
    local = True,
    environ = ["HOME"],
)
