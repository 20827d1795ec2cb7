/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

class LayersTest {

    @Test
    void theStarterNeedsTheRouterAndNothingAboveIt() {
        classes()
                .that()
                .resideInAPackage("org.shardflake.spring")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "jakarta.persistence..",
                        "java..",
                        "javax.sql..",
                        "org.aopalliance..",
                        "org.apache.commons.logging", // Spring's own
                        "org.hibernate..",
                        "org.jspecify..",
                        "org.springframework..",
                        "org.jooq..",
                        "io.micrometer..",
                        "com.fasterxml.jackson..",
                        "tools.jackson..",
                        "org.shardflake",
                        "org.shardflake.catalog",
                        "org.shardflake.jackson",
                        "org.shardflake.jooq",
                        "org.shardflake.micrometer",
                        "org.shardflake.router",
                        "org.shardflake.router.exception",
                        "org.shardflake.router.health",
                        "org.shardflake.server",
                        "org.shardflake.spring")
                .check(new ClassFileImporter()
                        .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                        .importPackages("org.shardflake.spring"));
    }
}
