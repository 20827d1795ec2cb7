/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Gives a test of a Spring application its own installation on embedded PostgreSQL servers.
 *
 * <pre>{@code
 * @SpringBootTest
 * @ShardflakeTest("classpath:db/photos.sql")
 * class PhotoServiceTest {
 *     @Autowired PhotoService photos;
 * }
 * }</pre>
 *
 * <p>The application needs no {@code shardflake.catalog}. Servers are started and the changelog is deployed once for all
 * test classes of a JVM that ask for the same. The shards are emptied before each test, so nothing has to be rolled back;
 * what a test has moved stays where it is.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface ShardflakeTest {

    /** The changelog of the shards: {@code classpath:db/photos.sql}, a path below the working directory, or {@code flyway:classpath:db/migration} for Flyway's migrations. */
    String value();

    /** The column that holds the uid, as given to {@code schema deploy --uid-column}; empty for none. */
    String uidColumn() default "";

    /**
     * The directory of Flyway's migrations, such as {@code classpath:db/migration}, if the changelog is one that {@code adopt plan} made: the shards get
     * these migrations after it, except those in {@link #flywayHistory}.
     */
    String flyway() default "";

    /** The file with Flyway's history that {@code adopt plan} wrote, such as {@code classpath:db/adoption.flyway.yaml}, for {@link #flyway}. */
    String flywayHistory() default "";

    /** The changelog of reference tables, which are written on the first server; empty for none. Their rows stay between tests. */
    String reference() default "";

    /** The lookups. */
    TestLookup[] lookups() default {};

    /** The number of shards. */
    int shards() default 8;

    /** The number of servers. Shard 0 is on the first, shard 1 on the second, and so on in turn. */
    int servers() default 2;
}
