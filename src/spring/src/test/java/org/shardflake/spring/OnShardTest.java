/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLTransientException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardKey;
import org.shardflake.ShardflakeId;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.exception.CommitOutcomeUnknownException;
import org.shardflake.router.exception.CrossShardException;
import org.shardflake.router.exception.ShardFencedException;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.dao.QueryTimeoutException;
import org.springframework.dao.TransientDataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.support.GeneratedKeyHolder;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionSuspensionNotSupportedException;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.annotation.Isolation;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Spring's transactions on a shard. Uid 2 is in shard 2 on the first server, uid 3 in shard 3 on the second. */
class OnShardTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private static PhotoInstallation installation;
    private static ConfigurableApplicationContext application;
    private static PhotoService photos;
    private static ShardRouter router;
    private static JdbcClient jdbc;
    /** How often the methods of the service were run. */
    private static int tries;

    @BeforeAll
    static void start(@TempDir Path directory) throws Exception {
        installation = PhotoInstallation.create(postgres, directory);
        application = SpringApplication.run(
                Application.class,
                installation.arguments("--shardflake.retry.max-tries=400", "--shardflake.pool.size=4"));
        photos = application.getBean(PhotoService.class);
        router = application.getBean(ShardRouter.class);
        jdbc = application.getBean(JdbcClient.class);
    }

    @AfterAll
    static void stop() {
        application.close();
    }

    @BeforeEach
    void empty() throws SQLException {
        unfence(2);
        installation.empty();
        tries = 0;
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {

        @Bean
        PhotoService photos() {
            return new PhotoService();
        }

        @Bean
        Keys keys() {
            return new Keys();
        }

        @Bean
        Mapper mapper() {
            return (Mapper) Proxy.newProxyInstance(
                    Mapper.class.getClassLoader(),
                    new Class<?>[] {Mapper.class},
                    (proxy, method, arguments) -> method.getDeclaringClass() == Object.class
                            ? method.invoke(Mapper.class, arguments)
                            : Objects.requireNonNull(router.currentAttempt()).shard());
        }
    }

    /** Finds the key of a name. */
    static class Keys {
        public ShardKey of(String name) {
            return ShardKey.uid(name.equals("three") ? 3 : 4);
        }
    }

    private static long insert(long uid, String title) {
        return jdbc.sql("INSERT INTO photo (uid, title) VALUES (?, ?) RETURNING id")
                .params(uid, title)
                .query(Long.class)
                .single();
    }

    @OnShard("#uid")
    @Transactional
    static class PhotoService {

        public long add(long uid, String title) {
            tries++;
            return insert(uid, title);
        }

        public long addAndThen(long uid, Runnable then) {
            tries++;
            long id = insert(uid, "and then");
            then.run();
            return id;
        }

        public <T extends @Nullable Object> T in(long uid, Supplier<T> work) {
            tries++;
            return work.get();
        }

        @Transactional(propagation = Propagation.REQUIRES_NEW)
        public long addInNew(long uid) {
            return insert(uid, "in a new one");
        }

        @Transactional(propagation = Propagation.REQUIRES_NEW)
        public long addInNewAndThen(long uid, Runnable then) {
            long id = insert(uid, "in a new one");
            then.run();
            return id;
        }

        @Transactional(propagation = Propagation.NESTED)
        public long addNestedAndThen(long uid, Runnable then) {
            long id = insert(uid, "nested");
            then.run();
            return id;
        }

        @Transactional(propagation = Propagation.SUPPORTS)
        public boolean supports(long uid) {
            insert(uid, "supports");
            return TransactionSynchronizationManager.isActualTransactionActive();
        }

        @Transactional(propagation = Propagation.SUPPORTS)
        public void supportsAndThen(long uid, Runnable then) {
            insert(uid, "supports");
            then.run();
        }

        @Transactional(propagation = Propagation.NOT_SUPPORTED)
        public void addOutside(long uid, Runnable then) {
            insert(uid, "outside");
            then.run();
        }

        @Transactional(propagation = Propagation.MANDATORY)
        public long addInOuter(long uid) {
            return insert(uid, "mandatory");
        }

        @Transactional(propagation = Propagation.NEVER)
        public long addInNone(long uid) {
            return insert(uid, "never");
        }

        @Transactional(readOnly = true)
        public long count(long uid) {
            return jdbc.sql("SELECT count(*) FROM photo").query(Long.class).single();
        }

        @Transactional(readOnly = true)
        public long addInRead(long uid) {
            return insert(uid, "read");
        }

        @Transactional(timeout = 1)
        public void sleep(long uid) {
            jdbc.sql("SELECT pg_sleep(20)").query().singleRow();
        }

        @Transactional(isolation = Isolation.SERIALIZABLE)
        public String isolation(long uid) {
            return setting("transaction_isolation");
        }

        public String setting(long uid, String name) {
            return setting(name);
        }

        private String setting(String name) {
            return jdbc.sql("SELECT current_setting(?)")
                    .param(name)
                    .query(String.class)
                    .single();
        }

        @OnShard(value = "#uid", retry = false)
        public long addOnce(long uid) {
            tries++;
            return insert(uid, "once");
        }

        @OnShard(id = "#id")
        public @Nullable String title(long id) {
            return jdbc.sql("SELECT title FROM photo WHERE id = ?")
                    .param(id)
                    .query(String.class)
                    .optional()
                    .orElse(null);
        }

        @OnShard("#key")
        public int shardOf(Object key) {
            return Objects.requireNonNull(router.currentAttempt()).shard();
        }

        @OnShard(id = "#key")
        public int shardOfId(Object key) {
            return Objects.requireNonNull(router.currentAttempt()).shard();
        }

        @OnShard("#key")
        public void withoutKey(@Nullable Object key) {}

        @OnShard("@keys.of(#name)")
        public int shardByBean(String name) {
            return Objects.requireNonNull(router.currentAttempt()).shard();
        }
    }

    @Test
    void tablesWithoutASchemaAreThoseOfTheShard() throws SQLException {
        long id = photos.add(2, "a");
        photos.add(3, "b");

        assertThat(router.map().shard(ShardKey.id(id))).isEqualTo(2);
        assertThat(installation.photos(2)).isEqualTo(1);
        assertThat(installation.photos(3)).isEqualTo(1);
        assertThat(photos.title(id)).isEqualTo("a");
    }

    @Test
    void everyKindOfKeyLeadsToItsShard() {
        UUID uuid = UUID.fromString("9b2e6dcc-2f0a-4c38-9d54-5f2f6a5d7c11");

        assertThat(photos.shardOf(11L)).isEqualTo(3);
        assertThat(photos.shardOf(11)).isEqualTo(3);
        assertThat(photos.shardOf("alice")).isEqualTo(router.map().shard(ShardKey.uid("alice")));
        assertThat(photos.shardOf(uuid)).isEqualTo(router.map().shard(ShardKey.uid(uuid)));
        assertThat(photos.shardOf(ShardKey.shard(5))).isEqualTo(5);
        long id = photos.add(6, "six");
        assertThat(photos.shardOf(ShardflakeId.of(id))).isEqualTo(6);
        assertThat(photos.shardOfId(ShardflakeId.of(id))).isEqualTo(6);
        assertThat(photos.shardOfId(String.valueOf(id))).isEqualTo(6);
        assertThat(photos.shardByBean("three")).isEqualTo(3);
    }

    /** As a mapper or client of HTTP is: an interface whose calls another proxy carries out. */
    interface Mapper {
        @OnShard("#uid")
        int shard(long uid);

        @OnShard("@keys.of(#name)")
        int shardByBean(String name);
    }

    @Test
    void parametersOfAnInterfaceBehindAnotherProxyHaveTheirNames() {
        Mapper mapper = application.getBean(Mapper.class);

        assertThat(mapper.shard(3)).isEqualTo(3);
        assertThat(mapper.shardByBean("four")).isEqualTo(4);
    }

    @Test
    void refusesWhatIsNoKey() {
        assertThatThrownBy(() -> photos.shardOf(1.5))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("PhotoService.shardOf")
                .hasMessageContaining("1.5, a java.lang.Double, allowed: a number, String");
        assertThatThrownBy(() -> photos.shardOfId("abc")).hasMessageContaining("abc");
        assertThatThrownBy(() -> photos.withoutKey(null)).hasMessageContaining("\"#key\" is null");
    }

    @Test
    void anExceptionRollsBack() throws SQLException {
        assertThatThrownBy(() -> photos.addAndThen(2, () -> {
                    throw new IllegalStateException("changed my mind");
                }))
                .hasMessage("changed my mind");

        assertThat(installation.photos(2)).isZero();
        assertThat(tries).isEqualTo(1);
    }

    /** Lifts the fence of a shard when the method runs for the third time. */
    private Supplier<Long> untilOpened(long uid) {
        return () -> {
            if (tries == 3) {
                unfence((int) uid);
            }
            return insert(uid, "in the end");
        };
    }

    private static void fence(int shard) {
        sql(shard, "SELECT shardflake.fence_shard(%s)".formatted(shard));
    }

    private static void unfence(int shard) {
        sql(shard, "SELECT shardflake.unfence_shard(%s)".formatted(shard));
    }

    private static void sql(int shard, String sql) {
        try {
            installation.inShard(shard, sql);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aMethodThatMeetsAFenceIsRunAgain() throws SQLException {
        fence(2);

        photos.in(2, untilOpened(2));

        assertThat(tries).isEqualTo(3);
        assertThat(installation.photos(2)).isEqualTo(1);
    }

    @Test
    void aMethodThatOnlyReadsMeetsTheFenceAtItsCommit() {
        fence(2);

        photos.in(2, () -> {
            if (tries == 3) {
                unfence(2);
            }
            return jdbc.sql("SELECT count(*) FROM photo").query(Long.class).single();
        });

        assertThat(tries).isEqualTo(3);
    }

    @Test
    void aLostConnectionBeforeTheCommitIsNoFailure() throws SQLException {
        photos.in(2, () -> {
            insert(2, "lost once");
            if (tries == 1) {
                kill();
            }
            return jdbc.sql("UPDATE photo SET title = 'kept'").update();
        });

        assertThat(tries).isEqualTo(2);
        assertThat(installation.photos(2)).isEqualTo(1);
    }

    /** Ends the session of the current transaction. */
    private static void kill() {
        long session = jdbc.sql("SELECT pg_backend_pid()").query(Long.class).single();
        sql(2, "SELECT pg_terminate_backend(%s, 5000)".formatted(session));
    }

    @Test
    void anUnknownOutcomeOfACommitIsNotRunAgain() throws SQLException {
        installation.inShard(2, """
                CREATE FUNCTION ${shard.schema}.die() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
                CREATE CONSTRAINT TRIGGER die AFTER INSERT ON ${shard.schema}.photo DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${shard.schema}.die()
                """);
        try {
            assertThatThrownBy(() -> photos.add(2, "who knows")).isInstanceOf(CommitOutcomeUnknownException.class);
        } finally {
            installation.inShard(2, "DROP TRIGGER die ON ${shard.schema}.photo; DROP FUNCTION ${shard.schema}.die()");
        }
        assertThat(tries).isEqualTo(1);
    }

    @Test
    void aMethodThatHasTakenEffectIsNotRunAgain() throws SQLException {
        try {
            assertThatThrownBy(() -> photos.in(2, () -> {
                        photos.addInNew(2);
                        fence(2);
                        return insert(2, "refused");
                    }))
                    .isInstanceOf(TransientDataAccessException.class)
                    .hasRootCauseInstanceOf(SQLException.class);
        } finally {
            unfence(2);
        }

        assertThat(tries).isEqualTo(1);
        assertThat(installation.photos(2)).isEqualTo(1);
    }

    @Test
    void withoutRetryTheRefusalIsTransient() {
        fence(2);
        try {
            TransientDataAccessException refused =
                    catchThrowableOfType(TransientDataAccessException.class, () -> photos.addOnce(2));

            assertThat(refused.getMostSpecificCause())
                    .isInstanceOfSatisfying(
                            SQLException.class,
                            cause -> assertThat(cause.getSQLState()).isEqualTo("SF001"));
        } finally {
            unfence(2);
        }
        assertThat(tries).isEqualTo(1);
    }

    @Test
    void withoutRetryPlainJdbcSaysThatItMayBeRepeated() {
        DataSource dataSource = application.getBean(DataSource.class);
        fence(2);
        try {
            SQLTransientException refused = catchThrowableOfType(
                    SQLTransientException.class,
                    () -> router.<Integer, SQLException>attempt(ShardKey.uid(2), false, attempt -> {
                        try (Connection connection = dataSource.getConnection();
                                PreparedStatement insert =
                                        connection.prepareStatement("INSERT INTO photo (uid) VALUES (2)")) {
                            return insert.executeUpdate();
                        }
                    }));

            assertThat(refused.getSQLState()).isEqualTo("SF001");
        } finally {
            unfence(2);
        }
    }

    @Test
    void triesEndAsThePolicySays() {
        fence(2);
        try (ConfigurableApplicationContext impatient =
                SpringApplication.run(Application.class, installation.arguments("--shardflake.retry.max-tries=3"))) {
            jdbc = impatient.getBean(JdbcClient.class);
            PhotoService service = impatient.getBean(PhotoService.class);
            assertThatThrownBy(() -> service.add(2, "never")).isInstanceOf(ShardFencedException.class);
            assertThat(tries).isEqualTo(3);
        } finally {
            jdbc = application.getBean(JdbcClient.class);
            unfence(2);
        }
    }

    @Test
    void workOfTheRouterJoinsTheTransaction() throws SQLException {
        assertThatThrownBy(() -> photos.addAndThen(2, () -> {
                    assertThat(countInRouter(2)).isEqualTo(1);
                    throw new IllegalStateException("roll back");
                }))
                .hasMessage("roll back");

        assertThat(installation.photos(2)).isZero();
    }

    private static long countInRouter(long uid) {
        try {
            return router.<Long, SQLException>write(uid, tx -> {
                try (var count =
                                tx.connection().prepareStatement(tx.sql("SELECT count(*) FROM ${shard.schema}.photo"));
                        var row = count.executeQuery()) {
                    row.next();
                    return row.getLong(1);
                }
            });
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void workOfTheRouterThatFailsKeepsTheTransactionFromCommitting() throws SQLException {
        assertThatThrownBy(() -> photos.addAndThen(2, () -> {
                    try {
                        router.run(2, tx -> {
                            throw new IllegalStateException("ignored");
                        });
                    } catch (IllegalStateException e) {
                        // Too late.
                    }
                }))
                .hasStackTraceContaining("work that joined this transaction has failed");

        assertThat(installation.photos(2)).isZero();
    }

    @Test
    void anotherShardInsideIsRefused() throws SQLException {
        assertThatThrownBy(() -> photos.addAndThen(2, () -> photos.add(3, "elsewhere")))
                .isInstanceOf(CrossShardException.class)
                .hasMessageContaining("uid 3 is in shard 3, but this transaction is of shard 2, for uid 2");
        assertThatThrownBy(() -> photos.addAndThen(2, () -> countInRouter(3))).isInstanceOf(CrossShardException.class);

        assertThat(installation.photos(2)).isZero();
        assertThat(installation.photos(3)).isZero();
    }

    @Test
    void anotherShardInsideIsRefusedWithoutATransactionToo() throws SQLException {
        assertThatThrownBy(() -> photos.supportsAndThen(2, () -> photos.supports(3)))
                .isInstanceOf(CrossShardException.class)
                .hasMessageContaining("uid 3 is in shard 3, but this connection is of shard 2, for uid 2");
        photos.supportsAndThen(2, () -> photos.add(3, "in its own"));

        assertThat(installation.photos(2)).isEqualTo(2);
        assertThat(installation.photos(3)).isEqualTo(1);
    }

    @Test
    void aTransactionWithoutAShardIsRefused() {
        TransactionTemplate transaction =
                new TransactionTemplate(application.getBean(PlatformTransactionManager.class));

        assertThatThrownBy(() -> transaction.executeWithoutResult(status -> photos.add(2, "too late")))
                .isInstanceOf(IllegalTransactionStateException.class)
                .hasMessageContaining("@OnShard belongs on the method that begins the transaction");
    }

    @Test
    void requiredJoins() throws SQLException {
        assertThatThrownBy(() -> photos.addAndThen(2, () -> {
                    photos.add(2, "too");
                    throw new IllegalStateException("roll back");
                }))
                .hasMessage("roll back");
        assertThat(installation.photos(2)).isZero();

        photos.addAndThen(2, () -> photos.addInOuter(10));
        assertThat(installation.photos(2)).isEqualTo(2);
        assertThatThrownBy(() -> photos.addInOuter(2)).isInstanceOf(IllegalTransactionStateException.class);
        assertThatThrownBy(() -> photos.addAndThen(2, () -> photos.addInNone(2)))
                .isInstanceOf(IllegalTransactionStateException.class);
    }

    @Test
    void aFailureInsideThatIsCaughtStillRollsBack() throws SQLException {
        assertThatThrownBy(() -> photos.addAndThen(2, () -> {
                    try {
                        photos.addAndThen(2, () -> {
                            throw new IllegalStateException("inner");
                        });
                    } catch (IllegalStateException e) {
                        // Spring has marked the transaction.
                    }
                }))
                .isInstanceOf(UnexpectedRollbackException.class);
        assertThat(installation.photos(2)).isZero();
    }

    @Test
    void requiresNewIsIndependent() throws SQLException {
        assertThatThrownBy(() -> photos.addAndThen(2, () -> {
                    photos.addInNew(2);
                    assertThat(countInRouter(2)).as("in the outer one again").isEqualTo(2);
                    throw new IllegalStateException("roll back");
                }))
                .hasMessage("roll back");

        assertThat(installation.photos(2)).isEqualTo(1);
    }

    @Test
    void workOfTheRouterJoinsTheNewTransaction() throws SQLException {
        assertThatThrownBy(() -> photos.addAndThen(
                        2,
                        () -> photos.addInNewAndThen(2, () -> {
                            assertThat(countInRouter(2)).isEqualTo(1);
                            throw new IllegalStateException("roll back");
                        })))
                .hasMessage("roll back");

        assertThat(installation.photos(2)).isZero();
    }

    @Test
    void nestedGoesBackToItsSavepoint() throws SQLException {
        photos.in(2, () -> {
            assertThatThrownBy(() -> photos.addNestedAndThen(2, () -> {
                        throw new IllegalStateException("inner");
                    }))
                    .hasMessage("inner");
            return insert(2, "after it, in the same shard");
        });

        assertThat(installation.photos(2)).isEqualTo(1);
    }

    @Test
    void supportsTakesPartOrGoesWithout() throws SQLException {
        assertThat(photos.supports(2)).isFalse();
        assertThat(photos.<Boolean>in(2, () -> photos.supports(2))).isTrue();
        assertThat(installation.photos(2)).isEqualTo(2);
    }

    @Test
    void notSupportedIsOutside() throws SQLException {
        assertThatThrownBy(() -> photos.addAndThen(2, () -> {
                    photos.addOutside(2, () -> assertThat(countInRouter(2)).isEqualTo(1));
                    throw new IllegalStateException("roll back");
                }))
                .hasMessage("roll back");

        assertThat(installation.photos(2)).isEqualTo(1);
        assertThat(photos.addInNone(2)).isPositive();
    }

    @Test
    void readOnlyIsARead() throws SQLException {
        fence(2);
        try {
            assertThat(photos.count(2)).isZero();
        } finally {
            unfence(2);
        }
        assertThatThrownBy(() -> photos.addInRead(2))
                .isInstanceOf(DataAccessException.class)
                .hasMessageContaining("read-only");
        assertThat(installation.photos(2)).isZero();
        photos.add(2, "writes again");
        assertThat(installation.photos(2)).isEqualTo(1);
    }

    @Test
    void aTimeoutEndsTheStatement() {
        assertThatThrownBy(() -> photos.sleep(2)).isInstanceOf(QueryTimeoutException.class);
    }

    @Test
    void theIsolationIsOfItsTransactionOnly() {
        assertThat(photos.isolation(2)).isEqualTo("serializable");
        for (int i = 0; i < 5; i++) {
            assertThat(photos.setting(2, "transaction_isolation")).isEqualTo("read committed");
        }
    }

    @Test
    void synchronizationsHearOfTheTryThatCommits() {
        List<String> heard = new ArrayList<>();
        fence(2);

        photos.in(2, () -> {
            int run = tries;
            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                @Override
                public void afterCommit() {
                    heard.add(run + " committed");
                }

                @Override
                public void afterCompletion(int status) {
                    heard.add(run + (status == STATUS_COMMITTED ? " completed" : " rolled back"));
                }
            });
            return untilOpened(2).get();
        });

        assertThat(heard).containsExactly("1 rolled back", "2 rolled back", "3 committed", "3 completed");
    }

    @Test
    void aTransactionOfSpringTakesPartInThatOfTheRouter() throws SQLException {
        assertThatThrownBy(() -> router.write(2, tx -> {
                    photos.add(2, "inside");
                    throw new IllegalStateException("roll back");
                }))
                .hasMessage("roll back");
        assertThat(installation.photos(2)).isZero();

        router.run(2, tx -> photos.add(2, "inside"));
        assertThat(installation.photos(2)).isEqualTo(1);

        assertThatThrownBy(() -> router.run(2, tx -> photos.add(3, "elsewhere")))
                .isInstanceOf(CrossShardException.class);
        assertThatThrownBy(() -> router.run(2, tx -> photos.addInNew(2)))
                .isInstanceOf(TransactionSuspensionNotSupportedException.class);
        assertThatThrownBy(() -> router.run(2, tx -> {
                    try {
                        photos.addAndThen(2, () -> {
                            throw new IllegalStateException("inner");
                        });
                    } catch (IllegalStateException e) {
                        // Too late.
                    }
                }))
                .hasStackTraceContaining("has failed");
        assertThat(installation.photos(2)).isEqualTo(1);
    }

    @Test
    void theTemplateDoesTheSame() throws SQLException {
        ShardTemplate shards = application.getBean(ShardTemplate.class);
        fence(2);

        long id = shards.write(ShardKey.uid(2), () -> {
            if (++tries == 3) {
                unfence(2);
            }
            return insert(2, "by the template");
        });

        assertThat(tries).isEqualTo(3);
        assertThat(shards.<@Nullable String>read(ShardKey.id(id), () -> photos.title(id)))
                .isEqualTo("by the template");
        assertThatThrownBy(() -> shards.read(ShardKey.uid(2), () -> insert(2, "no")))
                .hasMessageContaining("read-only");
        shards.run(ShardKey.uid(2), () -> insert(2, "too"));
        assertThat(shards.<Long>on(ShardKey.uid(2), () -> photos.count(2))).isEqualTo(2);
    }

    @Test
    void withoutAShardItSaysWhatToDo() {
        JdbcTemplate jdbc = application.getBean(JdbcTemplate.class);

        assertThatThrownBy(() -> jdbc.queryForObject("SELECT 1", Integer.class))
                .hasStackTraceContaining("annotate the method with @OnShard");
    }

    @Test
    void otherErrorsAreTranslatedAsEver() {
        assertThatThrownBy(() -> photos.in(
                        2,
                        () -> jdbc.sql("INSERT INTO photo (uid) VALUES (NULL)").update()))
                .isInstanceOf(DataIntegrityViolationException.class);
        assertThat(tries).isEqualTo(1);
    }

    @Test
    void everyWayOfExecutingFindsTheTable() throws SQLException {
        JdbcTemplate template = application.getBean(JdbcTemplate.class);
        GeneratedKeyHolder keys = new GeneratedKeyHolder();

        int updated = photos.in(2, () -> {
            DataSource dataSource = Objects.requireNonNull(template.getDataSource());
            insert(2, "prepared");
            try (PreparedStatement early =
                    DataSourceUtils.getConnection(dataSource).prepareStatement("UPDATE photo SET title = title || ?")) {
                early.setString(1, ".");
                early.executeUpdate();
                template.batchUpdate(
                        "INSERT INTO photo (uid, title) VALUES (?, ?)",
                        List.of(new Object[] {2, "batched"}, new Object[] {10, "batched"}));
                early.executeUpdate();
                template.execute("UPDATE photo SET title = title || '!'");
                jdbc.sql("INSERT INTO photo (uid, title) VALUES (2, 'with a key')")
                        .update(keys, "id");
                return early.executeUpdate();
            } catch (SQLException e) {
                throw new AssertionError(e);
            }
        });

        assertThat(updated).isEqualTo(4);
        assertThat(keys.getKeyAs(Long.class)).isPositive();
        assertThat(photos.<List<String>>in(
                        2,
                        () -> jdbc.sql("SELECT title FROM photo ORDER BY id")
                                .query(String.class)
                                .list()))
                .containsExactly("prepared..!.", "batched.!.", "batched.!.", "with a key.");
        assertThat(photos.<Integer>in(2, () -> jdbc.sql("DELETE FROM photo").update()))
                .isEqualTo(4);
    }

    @Test
    void connectionsComeBackWithTheirOldPath() throws SQLException {
        photos.add(2, "in a transaction");
        photos.supports(2);

        for (int i = 0; i < 5; i++) {
            assertThat(router.<String, SQLException>read(2, tx -> {
                        try (var show = tx.connection().prepareStatement("SHOW search_path");
                                var row = show.executeQuery()) {
                            row.next();
                            return row.getString(1);
                        }
                    }))
                    .isEqualTo("\"$user\", public");
        }
    }
}
