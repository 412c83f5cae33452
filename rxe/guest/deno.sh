#!/bin/sh
# "deno" in the guest: the host's, with what it cannot do here. Types are checked on the host,
# because emulation makes that slow. IBVERBS_STD has an option that says where @std is, for hosts
# that cannot reach its registry. Options given anyway are left alone.
case $1 in
run | test | bench)
  command=$1
  shift
  case " $* " in *" --check"* | *" --no-check"*) ;; *) set -- --no-check "$@" ;; esac
  case " $* " in *" --import-map"*) ;; *) set -- ${IBVERBS_STD:+"$IBVERBS_STD"} "$@" ;; esac
  set -- "$command" "$@"
  ;;
esac
exec "$DENO" "$@"
