#!/usr/bin/env bash
# A smoke test for a machine with a GPU: builds all (options go to build.sh), verifies every subject of sums of u32 at
# three sizes, times it at two, hot and cold, with the twin of each, times an empty call, and prints requests and
# replies. Fails if a reply is an error or a result is wrong.
#
#   try.sh [OPTION OF build.sh]...
set -euo pipefail
case ${1-} in -h | --help) sed -n -e '2,/^[^#]/s/^# //p' -e '2,/^[^#]/s/^#$//p' "$0" && exit ;; esac
here=$(dirname "$0")

main() {
    local binaries binary requests replies failed=0
    binaries=$("$here/build.sh" "$@")
    for binary in $binaries; do
        printf '==> %s\n' "$binary"
        requests=$(requests "$here/$binary")
        replies=$("$here/$binary" <<<"$requests") || failed=1
        # The first reply is the greeting, which nobody asks for.
        paste -d '\n' <(printf '\n%s\n' "$requests") <(printf '%s\n' "$replies")
        if grep -q '"error"' <<<"$replies" || grep -q '"mismatches":[1-9]' <<<"$replies"; then
            failed=1
        fi
    done
    if [ "$failed" -ne 0 ]; then
        printf 'try.sh: FAILED\n' >&2
        exit 1
    fi
}

requests() {
    local subject n cache calls
    printf '{"do":"load","n":%d,"seed":1,"mode":"inclusive","element":"u32","op":"add","operator_hash":"",' $((1 << 20))
    printf '"operator_facts":"","init_bits":0,"placement":"out-of-place","input":"random"}\n'
    for subject in $(subjects "$1"); do
        for n in 1 1000 $((1 << 20)); do
            printf '{"do":"verify","subject":"%s","n":%d}\n' "$subject" "$n"
        done
        for n in $((1 << 10)) $((1 << 20)); do
            for cache in hot cold; do
                printf '{"do":"time","subject":"%s","n":%d,"cache":"%s","calls":100,"samples":5}\n' \
                    "$subject" "$n" "$cache"
                for calls in 1 128 1000; do
                    printf '{"do":"twin","subject":"%s","n":%d,"cache":"%s","calls":%d}\n' \
                        "$subject" "$n" "$cache" "$calls"
                done
            done
            printf '{"do":"time","subject":"%s","n":%d,"cache":"hot","calls":1,"samples":5}\n' "$subject" "$n"
        done
    done
    for calls in 1 100; do
        printf '{"do":"time","subject":"cuda-empty","n":1,"cache":"hot","calls":%d,"samples":15}\n' "$calls"
    done
}

# The names in the greeting, which is all that a process says whose input is empty; without the one that has no result,
# and the one that scans nothing.
subjects() {
    "$1" </dev/null | grep -o '"name":"[^"]*"' | cut -d '"' -f 4 | grep -vx 'cuda-empty\|cub-reduce'
}

main "$@"
