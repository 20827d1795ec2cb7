/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PostgresUrlTest {
    @ParameterizedTest
    @CsvSource({
        "postgresql://u:p@h:1234/db,             h,       1234, u,        p",
        "postgres://u@h,                         h,       5432, u,        ''",
        "postgresql://h/db,                      h,       5432, postgres, ''",
        "postgresql:///db,                       localhost, 5432, postgres, ''",
        "jdbc:postgresql://h:1/db?user=u&password=p, h,   1,    u,        p",
        "jdbc:postgresql://h/,                   h,       5432, postgres, ''",
        "postgresql://u:old@h/db?password=new,   h,       5432, u,        new",
        "postgresql://a%40b:p%3Aq%2F%3F%25@h/db, h,       5432, a@b,      p:q/?%",
        "postgresql://u:a:b@h/db,                h,       5432, u,        a:b",
        "postgresql://u:p+q@h/db,                h,       5432, u,        p+q",
        "postgresql://h/db?password=p+q,         h,       5432, postgres, p+q",
        "jdbc:postgresql://h/db?password=p+q%2B, h,       5432, postgres, p q+",
        "postgresql://u@[::1]:5433/db,           [::1],   5433, u,        ''",
        "postgresql://db_1.example.org/,         db_1.example.org, 5432, postgres, ''",
    })
    void reads(String url, String host, int port, String user, String password) {
        assertThat(PostgresUrl.parse(url)).isEqualTo(new PostgresUrl(host, port, user, password, Map.of()));
    }

    @Test
    void keepsWhatJdbcAndLibpqBothKnow() {
        assertThat(PostgresUrl.parse("postgresql://h/db?sslmode=verify-full&sslrootcert=%2Fa%20b")
                        .parameters())
                .isEqualTo(Map.of("sslmode", "verify-full", "sslrootcert", "/a b"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "h:5432",
                "mysql://h/db",
                "jdbc:postgresql:db",
                "postgresql://h1,h2/db",
                "postgresql://h:port/db",
                "postgresql://h:65536/db",
                "postgresql://h:0/db",
                "postgresql://u:%zz@h/db",
                "postgresql://h/db?ApplicationName=x",
            })
    void refuses(String url) {
        assertThatThrownBy(() -> PostgresUrl.parse(url))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("cannot use \"" + url.replace("u:%zz@", "***@") + "\" as a server: ");
    }

    @Test
    void keepsPasswordsOutOfMessages() {
        assertThat(PostgresUrl.parse("postgresql://u:secret@h/db")).hasToString("postgresql://u@h:5432/");
        assertThatThrownBy(() -> PostgresUrl.parse("postgresql://u:secret@h/db?password=secret&x=y"))
                .hasMessage("cannot use \"postgresql://***@h/db?password=***&x=y\" as a server: parameter \"x\" is not"
                        + " one of user, password, sslmode, sslrootcert, sslcert, sslkey");
    }
}
