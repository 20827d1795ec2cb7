"""Copies the primary's data directory, which is on this machine, for Patroni's create_replica_methods."""
import argparse
import os
import shutil

import psycopg2

EMPTIED = ("pg_wal", "pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans")
LEFT_OUT = ("postmaster.pid", "postmaster.opts", "standby.signal", "backup_label", "tablespace_map")


def copy(source, target):
    """Files may change or go away meanwhile, which the write-ahead log repeats."""
    os.makedirs(target, exist_ok=True)
    os.chmod(target, 0o700)
    for name in os.listdir(source):
        its, copied = os.path.join(source, name), os.path.join(target, name)
        try:
            if os.path.isdir(its):
                if name in EMPTIED:
                    os.makedirs(copied, mode=0o700)
                else:
                    copy(its, copied)
            elif name not in LEFT_OUT:
                shutil.copyfile(its, copied)
                os.chmod(copied, 0o600)
        except FileNotFoundError:
            pass


parser = argparse.ArgumentParser()
parser.add_argument("--datadir", required=True)
parser.add_argument("--connstring", required=True)
arguments = parser.parse_known_args()[0]
connection = psycopg2.connect(arguments.connstring)
connection.autocommit = True
cursor = connection.cursor()
cursor.execute("SELECT current_setting('data_directory')")
directory = cursor.fetchone()[0]
cursor.execute("SELECT pg_backup_start('patroni', true)")
copy(directory, arguments.datadir)
cursor.execute("SELECT labelfile FROM pg_backup_stop(false)")
with open(os.path.join(arguments.datadir, "backup_label"), "w", encoding="utf-8") as label:
    label.write(cursor.fetchone()[0])
