/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.sql.Statement;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.support.StaticApplicationContext;
import org.springframework.test.context.TestContext;

@SpringBootTest
@ShardflakeTest("classpath:db/photos.sql")
class ShardflakeTestTest {

    @Autowired
    private PhotoService photos;

    @Autowired
    private ShardRouter router;

    /** Whatever the test before has left. */
    @RepeatedTest(2)
    void everyTestBeginsWithEmptyShards() {
        for (long uid = 0; uid < 4; uid++) {
            photos.add(uid, "photo of " + uid);
        }

        assertThat(photos.newest()).hasSize(4).first().isEqualTo("photo of 3");
        assertThat(router.map().servers()).hasSize(2);
        assertThat(router.map().sharding().shardCount()).isEqualTo(8);
    }

    @Nested
    class Inside {

        @RepeatedTest(2)
        void nestedClassesToo() {
            photos.add(7, "one");

            assertThat(photos.newest()).containsExactly("one");
        }
    }

    private static ShardflakeTest wanted(Class<?> testClass) {
        return Objects.requireNonNull(ShardflakeTestContext.find(testClass));
    }

    /** Of an application with a bean of its own that leads to other servers, such as a development cluster. */
    @Test
    void shardsOfAnotherInstallationAreNotEmptied() throws Exception {
        String elsewhere = TestInstallation.catalog(wanted(AnotherShardflakeTestTest.class));
        try (ShardRouter another = ShardRouter.builder().catalog(elsewhere).build();
                StaticApplicationContext application = new StaticApplicationContext()) {
            application.getBeanFactory().registerSingleton("router", another);
            application.refresh();
            another.run(1, tx -> {
                try (Statement insert = tx.connection().createStatement()) {
                    insert.execute(tx.sql("INSERT INTO ${shard.schema}.photo (uid, title) VALUES (1, 'precious')"));
                }
            });
            TestContext test = (TestContext) Proxy.newProxyInstance(
                    TestContext.class.getClassLoader(),
                    new Class<?>[] {TestContext.class},
                    (proxy, method, arguments) ->
                            method.getName().equals("getTestClass") ? ShardflakeTestTest.class : application);

            assertThatThrownBy(() -> new EmptyShardsListener().beforeTestMethod(test))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("the application's ShardRouter leads to [" + elsewhere
                            + "], not to the servers of this test");
            assertThat(another.count(ShardQuery.of(
                            "SELECT title FROM ${shard.schema}.photo WHERE title = 'precious'",
                            row -> row.getString(1))))
                    .isEqualTo(1);
            another.run(1, tx -> {
                try (Statement delete = tx.connection().createStatement()) {
                    delete.execute(tx.sql("DELETE FROM ${shard.schema}.photo WHERE title = 'precious'"));
                }
            });
        }
    }

    @ShardflakeTest("classpath:db/absent.sql")
    private static final class Absent {}

    @ShardflakeTest("flyway:classpath:db/migration")
    private static final class WithFlyway {}

    @Test
    void shardsMayHaveTheMigrationsOfFlyway() throws Exception {
        try (ShardRouter flyway = ShardRouter.builder()
                .catalog(TestInstallation.catalog(wanted(WithFlyway.class)))
                .build()) {
            assertThat(flyway.count(ShardQuery.of("SELECT title FROM ${shard.schema}.titles", row -> row.getString(1))))
                    .isEqualTo(8);
        }
    }

    @ShardflakeTest(
            value = "classpath:db/planned.sql",
            flyway = "classpath:db/migration",
            flywayHistory = "classpath:db/adoption.flyway.yaml")
    private static final class Planned {}

    @ShardflakeTest(value = "classpath:db/planned.sql", flyway = "classpath:db/migration")
    private static final class WithoutHistory {}

    /** The first migration makes a table that the planned changelog has made, so it would fail. */
    @Test
    void shardsOfAPlanTakeOverTheHistoryOfFlyway() throws Exception {
        try (ShardRouter planned = ShardRouter.builder()
                .catalog(TestInstallation.catalog(wanted(Planned.class)))
                .build()) {
            assertThat(planned.count(
                            ShardQuery.of("SELECT title FROM ${shard.schema}.titles", row -> row.getString(1))))
                    .isEqualTo(8);
        }
        assertThatThrownBy(() -> TestInstallation.catalog(wanted(WithoutHistory.class)))
                .hasMessageContaining(
                        "needs the directory of the migrations and the file that adopt plan wrote; changelog: classpath:db/planned.sql, migrations: classpath:db/migration, history: ");
    }

    @Test
    void aChangelogThatFailsSaysSoEachTime() {
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> TestInstallation.catalog(wanted(Absent.class)))
                    .hasMessageContaining("there is no changelog classpath:db/absent.sql");
        }
    }

    @Test
    void aChangelogThatIsNotThereIsNamed() {
        assertThatThrownBy(() -> new SchemaSource("classpath:db/absent.sql", "")
                        .install(List.of(), server -> ServerUrl.parse(server.url()), 1))
                .hasMessageContaining("there is no changelog classpath:db/absent.sql: name a resource");
        assertThatThrownBy(() -> new SchemaSource("absent.sql", "")
                        .install(List.of(), server -> ServerUrl.parse(server.url()), 1))
                .hasMessageContaining("there is no changelog absent.sql");
        assertThatThrownBy(() -> new SchemaSource("flyway:classpath:db/photos.sql", "")
                        .install(List.of(), server -> ServerUrl.parse(server.url()), 1))
                .hasMessageContaining(
                        "there is no directory flyway:classpath:db/photos.sql: name a resource, as flyway:classpath:db/migration");
    }
}
