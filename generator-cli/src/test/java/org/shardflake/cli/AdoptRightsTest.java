/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;

/** Logins of the old database that lack rights: each is named, with the statement that gives it, and nothing is done until then. */
class AdoptRightsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final int OLD = 2;

    /**
     * A right.
     *
     * @param take takes it from role {@code few}
     * @param lacks what adopt says then
     * @param give what it says to do about it
     */
    private record Right(String take, String lacks, String give) {}

    private static final List<Right> RIGHTS = List.of(
            new Right(
                    "REVOKE CREATE ON DATABASE %3$s FROM %1$s",
                    "role %1$s may not create schema shardflake_adopt in %3$s",
                    "GRANT CREATE ON DATABASE %3$s TO %1$s"),
            new Right(
                    "REVOKE TEMPORARY ON DATABASE %3$s FROM %1$s",
                    "role %1$s may not create temporary tables in %3$s", "GRANT TEMPORARY ON DATABASE %3$s TO %1$s"),
            new Right(
                    "ALTER ROLE %1$s NOBYPASSRLS",
                    "row-level security hides rows of old.photo from role %1$s", "ALTER ROLE %1$s BYPASSRLS"),
            new Right("REVOKE %2$s FROM %1$s", "role %1$s does not own old.photo_1", "GRANT %2$s TO %1$s"));

    private final CliInstallation installation = new CliInstallation(postgres);

    @TempDir
    private Path directory;

    @Test
    void missingRightsAreNamed() throws SQLException, IOException {
        Random random = new Random();
        String few = "few_" + random.nextInt(1_000_000);
        String owner = "owner_" + random.nextInt(1_000_000);
        String database = postgres.database(OLD).name();
        installation.init();
        installation.execute(OLD, """
                CREATE ROLE %1$s LOGIN PASSWORD '%4$s' BYPASSRLS; CREATE ROLE %2$s; GRANT %2$s TO %1$s; CREATE SCHEMA old; GRANT USAGE ON SCHEMA old TO %1$s, %2$s;
                CREATE TABLE old.photo (id integer PRIMARY KEY, uid integer NOT NULL) PARTITION BY RANGE (id);
                CREATE TABLE old.photo_1 PARTITION OF old.photo DEFAULT;
                INSERT INTO old.photo SELECT n, n FROM generate_series(1, 50) n;
                ALTER TABLE old.photo_1 OWNER TO %2$s; ALTER TABLE old.photo OWNER TO %1$s;
                ALTER TABLE old.photo ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY; CREATE POLICY few ON old.photo USING (uid < 10);
                GRANT CREATE, TEMPORARY ON DATABASE %3$s TO %1$s; REVOKE TEMPORARY ON DATABASE %3$s FROM PUBLIC
                """.formatted(few, owner, database, installation.password()));
        Files.writeString(
                directory.resolve("app.sql"),
                "--liquibase formatted sql\n--changeset ann:photo\nCREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL);\n");
        assertThat(installation
                        .launch(
                                "schema",
                                "deploy",
                                "--changelog=" + directory.resolve("app.sql"),
                                "--search-path=" + directory)
                        .exitCode())
                .isZero();
        String from = installation.url(OLD).replaceFirst("//[^@]*@", "//" + few + "@");
        try {
            for (int round = 0; round < 4; round++) {
                List<Right> lacking = new ArrayList<>(RIGHTS);
                int kept = round;
                lacking.removeIf(right -> random.nextBoolean() && !right.equals(RIGHTS.get(kept)));
                for (Right right : lacking) {
                    installation.execute(OLD, right.take().formatted(few, owner, database));
                }
                String all = installation.everything(OLD);

                Cli.Result refused =
                        installation.launch("adopt", "run", "--table=old.photo", "--key=uid", "--from=" + from);

                assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
                for (Right right : RIGHTS) {
                    String says = right.lacks().formatted(few, owner, database);
                    String gives = right.give().formatted(few, owner, database);
                    if (lacking.contains(right)) {
                        assertThat(refused.err()).contains(says, gives);
                        installation.execute(OLD, gives);
                    } else {
                        assertThat(refused.err()).doesNotContain(says);
                    }
                }
                assertThat(installation.everything(OLD)).isEqualTo(all);
            }
            Cli.Result done = installation.launch(
                    "adopt", "run", "--table=old.photo", "--key=uid", "--from=" + from, "--finish", "--yes");
            assertThat(done.err() + done.out()).containsPattern(" finished +50 +0 +50\n");
            installation.execute(OLD, "ALTER ROLE %s LOGIN PASSWORD '%s'".formatted(owner, installation.password()));
            for (String[] command : new String[][] {
                {"run", "--table=old.photo", "--key=uid"}, {"verify", "--table=old.photo", "--key=uid"}, {"status"}
            }) {
                List<String> words = new ArrayList<>(List.of("adopt"));
                words.addAll(List.of(command));
                words.add("--from=" + from.replace(few, owner));
                assertThat(installation.launch(words.toArray(String[]::new)).err())
                        .contains("shardflake_adopt.adoption belongs to role %s, which began an adoption, and not to %s"
                                .formatted(few, owner))
                        .contains("GRANT %s TO %s, or log in as that role".formatted(few, owner));
            }
            installation.execute(OLD, "REVOKE USAGE ON SCHEMA old FROM %s, %s".formatted(few, owner));
            assertThat(installation
                            .launch("adopt", "run", "--table=old.photo", "--key=uid", "--from=" + from)
                            .err())
                    .contains("role %s may not look at old.photo: permission denied for schema old".formatted(few));
        } finally {
            installation.execute(
                    OLD,
                    "DROP SCHEMA IF EXISTS old, shardflake_adopt CASCADE; DROP OWNED BY %1$s, %2$s; DROP ROLE %1$s, %2$s"
                            .formatted(few, owner));
        }
    }
}
