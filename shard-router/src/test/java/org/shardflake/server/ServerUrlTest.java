/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.ds.PGSimpleDataSource;

class ServerUrlTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "postgresql://db1                        | postgresql://db1:5432",
                "postgres://db1/app                      | postgresql://db1:5432/app",
                "postgresql:///app                       | postgresql://localhost:5432/app",
                "postgresql://                           | postgresql://localhost:5432",
                "postgresql://ann@db1:5433/app           | postgresql://ann@db1:5433/app",
                "postgresql://ann:s3cret@db1/app         | postgresql://ann@db1:5432/app",
                "postgresql://db1:5433,db2,[::1]:5434/x  | postgresql://db1:5433,db2:5432,[::1]:5434/x",
                "postgresql://[fe80::1]/app              | postgresql://[fe80::1]:5432/app",
                "postgresql:///?host=db1,db2&port=1,2&dbname=app&user=ann | postgresql://ann@db1:1,db2:2/app",
                "postgresql:///?host=db1,db2&port=5433   | postgresql://db1:5433,db2:5433",
                "jdbc:postgresql://db1:5433/app?user=ann | postgresql://ann@db1:5433/app",
                "jdbc:postgresql://db1/app               | postgresql://db1:5432/app",
                "jdbc:postgresql://db1:1,db2:2/app?password=s3cret | postgresql://db1:1,db2:2/app",
            })
    void readsBothForms(String url, String understood) {
        assertThat(ServerUrl.parse(url, Map.of())).hasToString(understood);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "postgresql://ann:s3:cr@et@db1:5433,db2/app?sslmode=verify-full&password=s3cret&sslrootcert=/ca.pem | postgresql://ann@db1:5433,db2/app?sslmode=verify-full&sslrootcert=/ca.pem",
                "postgresql://an@n:s3cret@db1/app?p%61ssword=s3cret | postgresql://an@n@db1/app",
                "postgresql://ann@db1:5433/app | postgresql://ann@db1:5433/app",
                "jdbc:postgresql://db1:1,db2:2/app?user=ann&password=s3cret&sslpassword=s3cret&sslmode=require | jdbc:postgresql://db1:1,db2:2/app?user=ann&sslmode=require",
            })
    void isWrittenWithoutPasswords(String url, String written) {
        assertThat(ServerUrl.parse(url, Map.of()).withoutPassword()).isEqualTo(written);
    }

    @Test
    void decodesUserAndPassword() {
        PGSimpleDataSource source = source("postgresql://an%40n:p%2Fw%3A+%25@db1/a%20b");

        assertThat(source.getUser()).isEqualTo("an@n");
        assertThat(source.getPassword()).isEqualTo("p/w:+%");
        assertThat(source.getDatabaseName()).isEqualTo("a b");
    }

    @Test
    void takesTheRestFromAService(@TempDir Path directory) throws IOException {
        Path file = Files.writeString(directory.resolve("pg_service.conf"), """
                [production]
                host=db7
                port=5433
                dbname=app
                user=ann
                """);
        String property = "org.postgresql.pgservicefile";
        System.setProperty(property, file.toString());
        try {
            assertThat(ServerUrl.parse("postgresql://?service=production"))
                    .hasToString("postgresql://ann@db7:5433/app");
            assertThat(ServerUrl.parse("postgresql://bob@/other?service=production"))
                    .hasToString("postgresql://bob@db7:5433/other");
            assertThat(ServerUrl.parse("postgresql://db8/?service=production"))
                    .hasToString("postgresql://ann@db8:5432/app");
            assertThatExceptionOfType(IllegalArgumentException.class)
                    .isThrownBy(() -> ServerUrl.parse("postgresql://?service=staging"))
                    .withMessageContaining("there is no service staging");
        } finally {
            System.clearProperty(property);
        }
    }

    @Test
    void translatesParameters() {
        PGSimpleDataSource source = source("postgresql://db1/app?sslmode=verify-full&sslrootcert=%2Fca.pem"
                + "&connect_timeout=3&application_name=import%20job&options=-c%20search_path=x"
                + "&target_session_attrs=read-write&keepalives=1&password=s3cret");

        assertThat(source.getSslMode()).isEqualTo("verify-full");
        assertThat(source.getSslRootCert()).isEqualTo("/ca.pem");
        assertThat(source.getConnectTimeout()).isEqualTo(3);
        assertThat(source.getApplicationName()).isEqualTo("import job");
        assertThat(source.getOptions()).isEqualTo("-c search_path=x");
        assertThat(source.getTargetServerType()).isEqualTo("primary");
        assertThat(source.getTcpKeepAlive()).isTrue();
        assertThat(source.getPassword()).isEqualTo("s3cret");
    }

    @Test
    void asksForThePrimaryOfSeveralHosts() {
        assertThat(source("postgresql://db1,db2/app").getTargetServerType()).isEqualTo("primary");
        assertThat(source("postgresql://db1,db2/app?target_session_attrs=any").getTargetServerType())
                .isEqualTo("primary");
        assertThat(source("postgresql://db1,db2/app?target_session_attrs=standby")
                        .getTargetServerType())
                .isEqualTo("secondary");
        assertThat(source("postgresql://db1/app").getTargetServerType()).isEqualTo("any");
    }

    @Test
    void tellsASubscriberToAskForThePrimaryAndHowToConnect() {
        assertThat(ServerUrl.parse("postgresql://ann@db1,db2:5433/app?target_session_attrs=any&sslmode=require"
                                + "&channel_binding=require&gssencmode=disable&options=-c%20geqo%3Doff")
                        .conninfo())
                .isEqualTo("host='db1,db2' port='5432,5433' dbname='app' user='ann' sslmode='require'"
                        + " channel_binding='require' gssencmode='disable' options='-c geqo=off'"
                        + " target_session_attrs='primary'");
        assertThat(ServerUrl.parse("postgresql://db1/app").conninfo())
                .isEqualTo("host='db1' port='5432' dbname='app' target_session_attrs='primary'");
    }

    @Test
    void takesTheLimitForConnectingFromTheEnvironment() {
        Map<String, String> environment = Map.of("PGCONNECT_TIMEOUT", "3");

        assertThat(ServerUrl.parse("postgresql://db1/app", environment)
                        .dataSource()
                        .getConnectTimeout())
                .isEqualTo(3);
        assertThat(ServerUrl.parse("postgresql://db1/app?connect_timeout=4", environment)
                        .dataSource()
                        .getConnectTimeout())
                .isEqualTo(4);
        assertThat(ServerUrl.parse("postgresql://db1/app").dataSource().getConnectTimeout())
                .isEqualTo(10);
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql://db1/app", "jdbc:postgresql://db1/app"})
    void takesUserAndPasswordFromTheEnvironment(String url) {
        PGSimpleDataSource source = ServerUrl.parse(url, Map.of("PGUSER", "ann", "PGPASSWORD", "s3cret"))
                .dataSource();

        assertThat(source.getUser()).isEqualTo("ann");
        assertThat(source.getPassword()).isEqualTo("s3cret");
        assertThat(source.getApplicationName()).isEqualTo("shardflake");
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql://bob:other@db1/app", "jdbc:postgresql://db1/app?user=bob&password=other"})
    void prefersTheUrlToTheEnvironment(String url) {
        PGSimpleDataSource source = ServerUrl.parse(url, Map.of("PGUSER", "ann", "PGPASSWORD", "s3cret"))
                .dataSource();

        assertThat(source.getUser()).isEqualTo("bob");
        assertThat(source.getPassword()).isEqualTo("other");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "mysql://ann:s3cret@db1/app         | it does not start with postgresql:// or jdbc:postgresql://",
                "host=db1 password=s3cret           | it does not start with postgresql:// or jdbc:postgresql://",
                "postgresql://ann:s3c/ret@db1/app   | the port is not a number in 1..65535; in a user or password write / as %2F, @ as %40, : as %3A",
                "postgresql://ann:s3cret%@db1/app   | a % must be followed by two hexadecimal digits; write % itself as %25",
                "postgresql://ann:s3cret@db1:0/app  | the port is not a number in 1..65535; in a user or password write / as %2F, @ as %40, : as %3A",
                "postgresql://db1/app?s3cret        | after the ? it needs name=value pairs, separated by &",
                "postgresql://db1/app?sslmod=s3cret | parameter sslmod is not supported",
                "postgresql://db1/app?connect_timeout=soon&password=s3cret | connect_timeout is not a number of seconds",
                "postgresql://%2Fvar%2Frun/app      | a Unix socket cannot be reached from Java; give a host and port",
                "postgresql:///app?host=a,b&port=1,2,3 | it has 2 hosts but 3 ports",
                "jdbc:postgresql://ann:s3cret@db1/app | a jdbc: URL takes the user as ?user=...&password=..., not before an @",
                "jdbc:postgresql://db1:s3cret/app   | the driver cannot read it",
            })
    void refusesAMalformedUrlWithoutRepeatingIt(String url, String reason) {
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> ServerUrl.parse(url, Map.of()))
                .withMessage("the server URL is malformed: " + reason);
    }

    private static PGSimpleDataSource source(String url) {
        return ServerUrl.parse(url, Map.of()).dataSource();
    }
}
