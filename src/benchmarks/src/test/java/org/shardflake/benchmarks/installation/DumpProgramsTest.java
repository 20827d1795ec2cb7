/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.installation;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class DumpProgramsTest {

    @Test
    void takesProgramsOfTheServersVersion() {
        assertThat(DumpPrograms.obstacle("pg_dump", "pg_dump (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", 15))
                .isEmpty();
        assertThat(DumpPrograms.obstacle("pg_dump", "pg_dump (PostgreSQL) 18beta1", 18))
                .isEmpty();
    }

    @Test
    void saysHowToMakeThemFit() {
        assertThat(DumpPrograms.obstacle("pg_dump", "pg_dump (PostgreSQL) 15.18", 18))
                .contains("of PostgreSQL 15", "are of 18", "-Dpostgres.version=15");
    }

    @Test
    void saysThatThereIsNone() {
        assertThat(DumpPrograms.obstacle("pg_restore", "", 18)).isEqualTo("there is no pg_restore on the PATH");
    }
}
