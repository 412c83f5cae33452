#!/bin/sh
# In the guest: rdma_core_tests FOLDER runs the tests of EFA that FOLDER has, some of them packed.
set -e
adapters=/sys/kernel/debug/stub_hca/efa
echo on >$adapters
mkdir /run/rdma_core
cp -r "$1" /run/rdma_core/tests
find /run/rdma_core/tests -name '*.gz' -exec gunzip {} +
cd /run/rdma_core
status=0
python3 tests/run_tests.py -v --dev efa_0 tests.test_efadv tests.test_efa_srd || status=$?
echo off >$adapters
exit $status
