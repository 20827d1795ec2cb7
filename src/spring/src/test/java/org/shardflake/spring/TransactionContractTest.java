/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.springframework.transaction.TransactionDefinition.ISOLATION_SERIALIZABLE;
import static org.springframework.transaction.TransactionDefinition.PROPAGATION_MANDATORY;
import static org.springframework.transaction.TransactionDefinition.PROPAGATION_NESTED;
import static org.springframework.transaction.TransactionDefinition.PROPAGATION_NEVER;
import static org.springframework.transaction.TransactionDefinition.PROPAGATION_NOT_SUPPORTED;
import static org.springframework.transaction.TransactionDefinition.PROPAGATION_REQUIRED;
import static org.springframework.transaction.TransactionDefinition.PROPAGATION_REQUIRES_NEW;
import static org.springframework.transaction.TransactionDefinition.PROPAGATION_SUPPORTS;
import static org.springframework.transaction.support.TransactionSynchronizationManager.isActualTransactionActive;
import static org.springframework.transaction.support.TransactionSynchronizationManager.isCurrentTransactionReadOnly;
import static org.springframework.transaction.support.TransactionSynchronizationManager.isSynchronizationActive;

import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardKey;
import org.shardflake.Sharding;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.QueryTimeoutException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * What Spring promises of transactions on a data source: asked of Spring's own manager on one database, so that the questions are right, and
 * of ours on a shard.
 */
class TransactionContractTest {

    private static final int SHARD = 2;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private static PhotoInstallation installation;
    private static ConfigurableApplicationContext application;

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {}

    @BeforeAll
    static void start(@TempDir Path directory) throws Exception {
        installation = PhotoInstallation.create(postgres, directory);
        application = SpringApplication.run(Application.class, installation.arguments());
    }

    @AfterAll
    static void stop() {
        application.close();
    }

    @Nested
    class OfSpring extends Contract {

        private final DriverManagerDataSource database = database();

        private static DriverManagerDataSource database() {
            TestDatabase first = postgres.database(SHARD % 2);
            Properties path = new Properties();
            path.setProperty("currentSchema", Sharding.schema(SHARD) + ",public");
            DriverManagerDataSource source = new DriverManagerDataSource(
                    first.jdbcUrl(), first.server().user(), first.server().password());
            source.setConnectionProperties(path);
            return source;
        }

        @Override
        PlatformTransactionManager manager() {
            return new JdbcTransactionManager(database);
        }

        @Override
        JdbcClient jdbc() {
            return JdbcClient.create(database);
        }

        @Override
        void onShard(Runnable work) {
            work.run();
        }
    }

    @Nested
    class OnAShard extends Contract {

        @Override
        PlatformTransactionManager manager() {
            return application.getBean(PlatformTransactionManager.class);
        }

        @Override
        JdbcClient jdbc() {
            return application.getBean(JdbcClient.class);
        }

        @Override
        void onShard(Runnable work) {
            application.getBean(ShardTemplate.class).on(ShardKey.uid(SHARD), () -> {
                work.run();
                return true;
            });
        }
    }

    abstract static class Contract {

        private final List<String> heard = new ArrayList<>();

        abstract PlatformTransactionManager manager();

        abstract JdbcClient jdbc();

        abstract void onShard(Runnable work);

        @BeforeEach
        void empty() throws SQLException {
            installation.empty();
        }

        @AfterEach
        void nothingIsLeftOnTheThread() {
            assertThat(isSynchronizationActive()).isFalse();
            assertThat(isActualTransactionActive()).isFalse();
            assertThat(TransactionSynchronizationManager.getResourceMap()).isEmpty();
        }

        private void in(Consumer<TransactionTemplate> settings, Consumer<TransactionStatus> work) {
            TransactionTemplate template = new TransactionTemplate(manager());
            settings.accept(template);
            template.executeWithoutResult(work);
        }

        private void in(int propagation, Consumer<TransactionStatus> work) {
            in(template -> template.setPropagationBehavior(propagation), work);
        }

        /** An outer transaction on the shard. */
        private void outer(Consumer<TransactionStatus> work) {
            onShard(() -> in(PROPAGATION_REQUIRED, work));
        }

        private void add(String title) {
            jdbc().sql("INSERT INTO photo (uid, title) VALUES (?, ?)")
                    .params(SHARD, title)
                    .update();
        }

        private static long rows() {
            try {
                return installation.photos(SHARD);
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        }

        private void listen(String name) {
            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                @Override
                public void suspend() {
                    heard.add(name + " suspend");
                }

                @Override
                public void resume() {
                    heard.add(name + " resume");
                }

                @Override
                public void beforeCommit(boolean readOnly) {
                    heard.add(name + " beforeCommit");
                }

                @Override
                public void beforeCompletion() {
                    heard.add(name + " beforeCompletion");
                }

                @Override
                public void afterCommit() {
                    heard.add(name + " afterCommit " + rows());
                }

                @Override
                public void afterCompletion(int status) {
                    heard.add(name + " afterCompletion " + status);
                }
            });
        }

        @Test
        void requiredCommits() {
            outer(status -> {
                assertThat(status.isNewTransaction()).isTrue();
                assertThat(isSynchronizationActive()).isTrue();
                assertThat(isActualTransactionActive()).isTrue();
                assertThat(isCurrentTransactionReadOnly()).isFalse();
                add("one");
                assertThat(rows()).isZero();
            });
            assertThat(rows()).isEqualTo(1);
        }

        @Test
        void anExceptionRollsBackAndArrivesAsItIs() {
            IllegalArgumentException thrown = new IllegalArgumentException("no");
            assertThatThrownBy(() -> outer(status -> {
                        add("one");
                        throw thrown;
                    }))
                    .isSameAs(thrown);
            assertThat(rows()).isZero();
        }

        @Test
        void rollbackOnlyByTheOneThatBeganItIsNoError() {
            outer(status -> {
                add("one");
                status.setRollbackOnly();
                assertThat(status.isRollbackOnly()).isTrue();
            });
            assertThat(rows()).isZero();
        }

        @Test
        void requiredInsideTakesPart() {
            outer(status -> {
                add("outer");
                in(PROPAGATION_REQUIRED, inner -> {
                    assertThat(inner.isNewTransaction()).isFalse();
                    add("inner");
                });
                assertThat(rows()).isZero();
            });
            assertThat(rows()).isEqualTo(2);
        }

        @Test
        void rollbackOnlyInsideIsUnexpectedOutside() {
            assertThatThrownBy(() -> outer(status -> {
                        add("outer");
                        in(PROPAGATION_REQUIRED, TransactionStatus::setRollbackOnly);
                        assertThat(status.isRollbackOnly()).isTrue();
                    }))
                    .isInstanceOf(UnexpectedRollbackException.class);
            assertThat(rows()).isZero();
        }

        @Test
        void mandatoryNeedsOneAndNeverNone() {
            onShard(() -> assertThatThrownBy(() -> in(PROPAGATION_MANDATORY, status -> add("never")))
                    .isInstanceOf(IllegalTransactionStateException.class));
            outer(status -> {
                in(PROPAGATION_MANDATORY, inner -> add("inner"));
                assertThatThrownBy(() -> in(PROPAGATION_NEVER, inner -> add("never")))
                        .isInstanceOf(IllegalTransactionStateException.class);
            });
            assertThat(rows()).isEqualTo(1);
            onShard(() -> in(PROPAGATION_NEVER, status -> add("by itself")));
            assertThat(rows()).isEqualTo(2);
        }

        @Test
        void supportsWithoutOneCommitsEachStatement() {
            onShard(() -> in(PROPAGATION_SUPPORTS, status -> {
                assertThat(status.isNewTransaction()).isFalse();
                assertThat(isSynchronizationActive()).isTrue();
                assertThat(isActualTransactionActive()).isFalse();
                add("one");
                assertThat(rows()).isEqualTo(1);
                status.setRollbackOnly();
            }));
            assertThat(rows()).isEqualTo(1);
        }

        @Test
        void supportsInsideTakesPart() {
            outer(status -> {
                in(PROPAGATION_SUPPORTS, inner -> add("inner"));
                status.setRollbackOnly();
            });
            assertThat(rows()).isZero();
        }

        @Test
        void notSupportedInsideIsOutside() {
            outer(status -> {
                add("outer");
                in(PROPAGATION_NOT_SUPPORTED, inner -> {
                    assertThat(isActualTransactionActive()).isFalse();
                    add("outside");
                    assertThat(rows()).isEqualTo(1);
                });
                assertThat(isActualTransactionActive()).isTrue();
                status.setRollbackOnly();
            });
            assertThat(rows()).isEqualTo(1);
        }

        @Test
        void requiresNewCommitsByItself() {
            outer(status -> {
                add("outer");
                in(PROPAGATION_REQUIRES_NEW, inner -> {
                    assertThat(inner.isNewTransaction()).isTrue();
                    add("inner");
                });
                assertThat(rows()).isEqualTo(1);
                status.setRollbackOnly();
            });
            assertThat(rows()).isEqualTo(1);
        }

        @Test
        void requiresNewRollsBackByItself() {
            outer(status -> {
                add("outer");
                assertThatThrownBy(() -> in(PROPAGATION_REQUIRES_NEW, inner -> {
                            add("inner");
                            throw new IllegalArgumentException("no");
                        }))
                        .isInstanceOf(IllegalArgumentException.class);
                assertThat(status.isRollbackOnly()).isFalse();
            });
            assertThat(rows()).isEqualTo(1);
        }

        @Test
        void nestedGoesBackToItsSavepoint() {
            outer(status -> {
                add("outer");
                in(PROPAGATION_NESTED, inner -> {
                    assertThat(inner.hasSavepoint()).isTrue();
                    add("inner");
                    inner.setRollbackOnly();
                });
                in(PROPAGATION_NESTED, inner -> add("inner two"));
                Object savepoint = status.createSavepoint();
                add("three");
                status.rollbackToSavepoint(savepoint);
                status.releaseSavepoint(savepoint);
            });
            assertThat(rows()).isEqualTo(2);
        }

        @Test
        void nestedAloneIsATransaction() {
            onShard(() -> in(PROPAGATION_NESTED, status -> {
                assertThat(status.isNewTransaction()).isTrue();
                assertThat(status.hasSavepoint()).isFalse();
                add("one");
            }));
            assertThat(rows()).isEqualTo(1);
        }

        @Test
        void readOnlyRefusesWritesAndEndsWithItsTransaction() {
            onShard(() -> in(template -> template.setReadOnly(true), status -> {
                assertThat(isCurrentTransactionReadOnly()).isTrue();
                assertThatThrownBy(() -> add("one"))
                        .isInstanceOf(DataAccessException.class)
                        .hasMessageContaining("read-only transaction");
                status.setRollbackOnly();
            }));
            outer(status -> add("two"));
            assertThat(rows()).isEqualTo(1);
        }

        @Test
        void isolationEndsWithItsTransaction() {
            onShard(() -> {
                in(template -> template.setIsolationLevel(ISOLATION_SERIALIZABLE), status -> {
                    assertThat(isolation()).isEqualTo("serializable");
                    in(PROPAGATION_REQUIRED, inner -> assertThat(isolation()).isEqualTo("serializable"));
                });
                in(PROPAGATION_REQUIRED, status -> assertThat(isolation()).isEqualTo("read committed"));
            });
        }

        private String isolation() {
            return jdbc().sql("SHOW transaction_isolation").query(String.class).single();
        }

        @Test
        void aTimeoutEndsTheStatement() {
            assertThatThrownBy(() -> onShard(() -> in(template -> template.setTimeout(1), status -> {
                        add("one");
                        jdbc().sql("SELECT pg_sleep(60)").query().listOfRows();
                    })))
                    .isInstanceOf(QueryTimeoutException.class);
            assertThat(rows()).isZero();
        }

        @Test
        void synchronizationsHearOfACommit() {
            outer(status -> {
                listen("outer");
                add("outer");
                in(PROPAGATION_REQUIRED, inner -> listen("inner"));
            });
            assertThat(heard)
                    .containsExactly(
                            "outer beforeCommit",
                            "inner beforeCommit",
                            "outer beforeCompletion",
                            "inner beforeCompletion",
                            "outer afterCommit 1",
                            "inner afterCommit 1",
                            "outer afterCompletion 0",
                            "inner afterCompletion 0");
        }

        @Test
        void synchronizationsHearOfARollback() {
            outer(status -> {
                listen("outer");
                status.setRollbackOnly();
            });
            assertThat(heard).containsExactly("outer beforeCompletion", "outer afterCompletion 1");
        }

        @Test
        void synchronizationsOfTheOuterOneSleepDuringTheInner() {
            outer(status -> {
                listen("outer");
                in(PROPAGATION_REQUIRES_NEW, inner -> {
                    listen("inner");
                    add("inner");
                });
            });
            assertThat(heard)
                    .containsExactly(
                            "outer suspend",
                            "inner beforeCommit",
                            "inner beforeCompletion",
                            "inner afterCommit 1",
                            "inner afterCompletion 0",
                            "outer resume",
                            "outer beforeCommit",
                            "outer beforeCompletion",
                            "outer afterCommit 1",
                            "outer afterCompletion 0");
        }

        @Test
        void aFailureBeforeTheCommitRollsBackAndOneAfterItDoesNot() {
            assertThatThrownBy(() -> outer(status -> {
                        add("one");
                        fail("before");
                    }))
                    .hasMessage("before");
            assertThat(rows()).isZero();
            assertThatThrownBy(() -> outer(status -> {
                        add("two");
                        fail("after");
                    }))
                    .hasMessage("after");
            assertThat(rows()).isEqualTo(1);
        }

        private static void fail(String when) {
            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                @Override
                public void beforeCommit(boolean readOnly) {
                    if (when.equals("before")) {
                        throw new IllegalArgumentException(when);
                    }
                }

                @Override
                public void afterCommit() {
                    if (when.equals("after")) {
                        throw new IllegalArgumentException(when);
                    }
                }
            });
        }
    }
}
