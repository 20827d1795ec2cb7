/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.shardflake.ShardSet;
import org.shardflake.cluster.ManagedRole;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.deploy.ShardSchemaCopy;
import org.shardflake.grants.Grant;
import org.shardflake.grants.Grants;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.server.MoveServer;
import org.shardflake.preflight.Preflight;
import org.shardflake.preflight.PreflightCheck;
import org.shardflake.preflight.PreflightReport;
import org.shardflake.server.ServerUrl;

/** Shards that belong to a role that is not a superuser, moved by a superuser and by a role with no more than the grants for moves. */
@Tag("full")
class PlainRolesIT {

    private static final String PASSWORD = "not to be seen";
    private static final ShardSet SHARD = ShardSet.of(1);

    /** What everything in the shard and in the library is owned by, and who may use it. */
    private static final String OWNERS = """
            SELECT format('%s %s: %s %s', what, name, owner::regrole, (SELECT string_agg(item::text, ' ' ORDER BY item::text) FROM unnest(acl) item))
              FROM (SELECT 'schema', nspname::text, nspowner, COALESCE(nspacl, acldefault('n', nspowner)), oid FROM pg_namespace
                     UNION ALL SELECT 'relation', oid::regclass::text, relowner, COALESCE(relacl, acldefault(CASE relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END, relowner)), relnamespace
                      FROM pg_class WHERE relkind NOT IN ('i', 'I')
                     UNION ALL SELECT 'function', oid::regprocedure::text, proowner, COALESCE(proacl, acldefault('f', proowner)), pronamespace FROM pg_proc
                     UNION ALL SELECT 'type', oid::regtype::text, typowner, COALESCE(typacl, acldefault('T', typowner)), typnamespace FROM pg_type) o (what, name, owner, acl, namespace)
             WHERE namespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('shard_0001', 'shardflake', 'shardflake_internal'))
            """;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private AccountShards shards;

    @BeforeEach
    void deployAsAPlainRole() throws Exception {
        shards = AccountShards.bare(postgres);
        dropRoles();
        everywhere(ManagedRole.createByPassword());
        everywhere("CREATE ROLE plain_owner LOGIN PASSWORD '%s'; CREATE ROLE plain_app; CREATE ROLE plain_reader"
                .formatted(PASSWORD));
        everywhere("CREATE ROLE plain_mover LOGIN PASSWORD '%s'; GRANT logs_in_by_password TO plain_mover"
                .formatted(PASSWORD));
        everywhere(
                "DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO plain_owner', current_database()); END $$");
        try (InputStream text = Objects.requireNonNull(ShardSchemaCopy.class.getResourceAsStream("everything.sql"))) {
            shards.as("plain_owner", PASSWORD)
                    .deploy(2, directory, Files.write(directory.resolve("everything.sql"), text.readAllBytes()));
        }
        shards.execute("db1", """
                SET ROLE plain_owner; SET search_path = shard_0001, public;
                INSERT INTO photo (uid, title) SELECT n, 'Title ' || n FROM generate_series(1, 100) n;
                INSERT INTO comment (photo_id, text) SELECT id, 'seen' FROM photo;
                GRANT USAGE ON SCHEMA shard_0001 TO plain_app; GRANT INSERT, SELECT ON ALL TABLES IN SCHEMA shard_0001 TO plain_app;
                GRANT USAGE ON ALL SEQUENCES IN SCHEMA shard_0001 TO plain_app; GRANT SELECT ON photo TO plain_reader WITH GRANT OPTION;
                GRANT UPDATE (title) ON photo TO plain_reader; REVOKE EXECUTE ON FUNCTION secret() FROM PUBLIC
                """);
    }

    @AfterEach
    void dropRoles() throws SQLException {
        postgres.restore("bare");
        everywhere("DROP ROLE IF EXISTS plain_owner, plain_app, plain_reader, plain_mover");
    }

    private void everywhere(String sql) throws SQLException {
        for (int i = 0; i < 3; i++) {
            try (Connection connection = postgres.database(i).connect()) {
                Sql.execute(connection, sql);
            }
        }
    }

    @Test
    void aSuperuserMovesThemAndTheyStayTheirOwners() throws Exception {
        everywhereGrant(Grants.Work.MOVES, user(), grant -> true);

        movesAndComesBack(shards.as(user(), postgres.database(0).server().password()));
    }

    @Test
    void aRoleWithTheGrantsForMovesMovesThem() throws Exception {
        assumeTrue(postgres.database(0).server().majorVersion() >= 16, "PostgreSQL 15 has no such role");
        everywhereGrant(Grants.Work.MOVES, "plain_mover", grant -> true);

        movesAndComesBack(shards.as("plain_mover", PASSWORD));
    }

    private record Login(String user, String password) {
        @Override
        public String toString() {
            return user;
        }
    }

    private static Stream<Login> movers() {
        return Stream.concat(
                Stream.of(new Login("plain_mover", PASSWORD)),
                Stream.of(ManagedRole.values()).map(model -> new Login(model.user(), model.password())));
    }

    /** The client, and each server as a subscriber, check the other's name; none of them comes without TLS. */
    @ParameterizedTest
    @MethodSource("movers")
    void aRoleMovesThemOverTlsThatChecksTheServersName(Login login) throws Exception {
        assumeTrue(postgres.database(0).server().majorVersion() >= 16, "PostgreSQL 15 has no such role");
        for (ManagedRole model : ManagedRole.values()) {
            for (int i = 0; i < 3; i++) {
                model.create(postgres.database(i).server());
            }
        }
        everywhereGrant(Grants.Work.MOVES, login.user(), grant -> true);
        try (Tls tls = Tls.on(postgres, 3, directory)) {
            AccountShards mover = shards.as(login.user(), login.password());
            String verified = "?sslmode=verify-full&sslrootcert=" + tls.certificate();
            assertThatThrownBy(() -> connect(mover.with("?sslmode=disable").url("db1")))
                    .hasMessageContaining(login.user());
            assertThatThrownBy(() -> connect(ServerUrl.parse(shards.database("db1")
                                    .uri(login.user(), login.password())
                                    .replace("localhost", "127.0.0.1")
                            + verified)))
                    .hasMessageContaining("127.0.0.1");

            movesAndComesBack(mover.with(verified));
        }
    }

    private static void connect(ServerUrl url) throws SQLException {
        url.connect("a test").close();
    }

    @Test
    void eachGrantThatIsMissingIsNamed() throws Exception {
        assumeTrue(postgres.database(0).server().majorVersion() >= 16, "PostgreSQL 15 has no such role");
        List<Grant> all = grants("db1", Grants.Work.MOVES, "plain_mover");
        for (Grant without : all) {
            everywhereGrant(
                    Grants.Work.MOVES,
                    "plain_mover",
                    grant -> !grant.statement().equals(without.statement()));

            assertThat(preflight(shards.as("plain_mover", PASSWORD)).checks()).anySatisfy(check -> {
                assertThat(check.name()).isEqualTo("privileges-db1");
                assertThat(check.outcome()).isEqualTo(PreflightCheck.Outcome.FAILED);
                assertThat(check.remedy()).hasToString(without.statement().orElseThrow());
            });
            everywhere("DROP OWNED BY plain_mover; DROP ROLE plain_mover");
            everywhere("CREATE ROLE plain_mover LOGIN PASSWORD '%s'; GRANT logs_in_by_password TO plain_mover"
                    .formatted(PASSWORD));
        }
        assertThat(all).hasSize(4);
    }

    private static PreflightReport preflight(AccountShards mine) {
        return Preflight.run(new MoveServer("db1", mine.url("db1")), new MoveServer("db2", mine.url("db2")), SHARD);
    }

    private String user() {
        return postgres.database(0).server().user();
    }

    private List<Grant> grants(String server, Grants.Work work, String role) throws SQLException {
        try (Connection from = shards.database("db1").connect();
                Connection to = shards.database(server).connect()) {
            return Grants.list(to, work, role, Grants.Owners.of(from));
        }
    }

    /** Runs the statements of the grants that pass, on the servers and in the catalog. */
    private void everywhereGrant(Grants.Work work, String role, Predicate<Grant> some) throws SQLException {
        for (String server : List.of("db1", "db2")) {
            for (Grant grant : grants(server, work, role)) {
                grant(shards.database(server), grant, some);
            }
        }
        try (Connection connection = shards.catalogDatabase().connect()) {
            for (Grant grant : Grants.inCatalog(connection, work, role)) {
                grant(shards.catalogDatabase(), grant, some);
            }
        }
    }

    private static void grant(TestDatabase database, Grant grant, Predicate<Grant> some) throws SQLException {
        if (some.test(grant) && !grant.present()) {
            try (Connection connection = database.connect()) {
                Sql.execute(connection, grant.statement().orElseThrow());
            }
        }
    }

    private void movesAndComesBack(AccountShards mine) throws Exception {
        Set<String> before = owners("db1");
        assertThat(before)
                .anyMatch(line -> line.contains("plain_reader"))
                .noneMatch(line -> line.startsWith("relation") && line.contains(user() + " "));
        assertThat(preflight(mine).checks())
                .filteredOn(check -> check.outcome() == PreflightCheck.Outcome.FAILED)
                .isEmpty();
        Mover mover = mine.mover(MoveSettings.DEFAULT, MoveListener.NONE);

        long move =
                mover.follow(mover.record("db1", "db2", SHARD, "a test").id()).id();
        mover.cutOver(move, SHARD);
        assertThat(owners("db2")).containsExactlyElementsOf(before);
        shards.execute("db2", "SET ROLE plain_owner; INSERT INTO shard_0001.photo (uid, title) VALUES (3, 'new')");
        mover.reverse(move, SHARD);
        assertThat(shards.number("db1", "SELECT count(*) FROM shard_0001.photo"))
                .isEqualTo(101);
        assertThat(mover.verify(move, SHARD)).isEmpty();
        mover.cutOver(move, SHARD);
        mover.complete(move);

        assertThat(owners("db2")).containsExactlyElementsOf(before);
        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0001.comment"))
                .isEqualTo(100);
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
    }

    private Set<String> owners(String server) throws SQLException {
        try (Connection connection = shards.database(server).connect()) {
            return new TreeSet<>(Sql.list(connection, OWNERS, row -> row.getString(1)));
        }
    }
}
