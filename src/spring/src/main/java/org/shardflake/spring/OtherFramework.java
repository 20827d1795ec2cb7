/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.util.Arrays;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.CliCommand;
import org.springframework.beans.factory.BeanCreationException;

/** A framework with its own tables, which cannot be in shards, and the way to give it its own database. */
enum OtherFramework {
    FLYWAY(
            "Flyway",
            "org.flywaydb.",
            "flyway",
            "Set spring.flyway.enabled=false. " + deploy()
                    + " For tables in a database of its own, set spring.flyway.url, spring.flyway.user and spring.flyway.password."),
    LIQUIBASE(
            "Liquibase",
            "liquibase.",
            "liquibase",
            "Set spring.liquibase.enabled=false. " + deploy()
                    + " For tables in a database of its own, set spring.liquibase.url, spring.liquibase.user and spring.liquibase.password."),
    QUARTZ(
            "Quartz",
            "org.quartz.",
            "quartz",
            "Set spring.quartz.job-store-type=memory, or keep the jobs in another database. "
                    + ownDatabase("@QuartzDataSource")
                    + " Add its transaction manager: @Bean(defaultCandidate = false) @QuartzTransactionManager PlatformTransactionManager."),
    BATCH(
            "Spring Batch",
            "org.springframework.batch.",
            "batchDataSource",
            ownDatabase("@BatchDataSource")
                    + " Add its transaction manager: @Bean(defaultCandidate = false) @BatchTransactionManager PlatformTransactionManager."),
    SESSION(
            "Spring Session",
            "org.springframework.session.",
            "jdbcSession",
            ownDatabase("@SpringSessionDataSource")
                    + " Add the bean springSessionTransactionOperations, a TransactionTemplate of that database."),
    SCRIPTS(
            "spring.sql.init",
            null, // The same classes run scripts for others.
            "dataSourceScriptDatabaseInitializer",
            "Set spring.sql.init.mode=never. " + deploy());

    private final String title;
    private final @Nullable String classes;
    private final String beans;
    private final String action;

    /**
     * @param classes what the names of its classes begin with
     * @param beans what the names of its beans contain
     */
    OtherFramework(String title, @Nullable String classes, String beans, String action) {
        this.title = title;
        this.classes = classes;
        this.beans = beans;
        this.action = action;
    }

    private static String deploy() {
        return "Tables of shards are changed by '%s'.".formatted(CliCommand.SCHEMA_DEPLOY);
    }

    private static String ownDatabase(String annotation) {
        return "Add a bean of the database that has its tables: @Bean(defaultCandidate = false) %s DataSource."
                .formatted(annotation);
    }

    String title() {
        return title;
    }

    String action() {
        return action;
    }

    /** The framework that these calls come from. */
    static @Nullable OtherFramework calling(StackTraceElement[] calls) {
        return find(framework -> framework.classes != null
                && Arrays.stream(calls).anyMatch(call -> call.getClassName().startsWith(framework.classes)));
    }

    /** The framework whose bean could not be created. */
    static @Nullable OtherFramework making(Throwable failure) {
        return find(framework -> Stream.iterate(failure, cause -> cause != null, Throwable::getCause)
                .anyMatch(cause -> cause instanceof BeanCreationException bean
                        && bean.getBeanName() != null
                        && bean.getBeanName().contains(framework.beans)));
    }

    private static @Nullable OtherFramework find(Predicate<OtherFramework> isWanted) {
        return Arrays.stream(values()).filter(isWanted).findFirst().orElse(null);
    }
}
